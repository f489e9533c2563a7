// What is inside of what ships, for programs that look for known faults: a CycloneDX 1.6 document of the packages that are bundled.
// https://cyclonedx.org/docs/1.6/json/ ; addresses of packages: https://github.com/package-url/purl-spec
import { writeFile } from 'node:fs/promises';

/** `pkg:npm/%40scope/name@1.2.3`: the scope's sign is escaped, its slash is not. */
function address(name, version) {
  return `pkg:npm/${name.replace(/^@/, '%40')}@${encodeURIComponent(version)}`;
}

/** Of packages as `bundledPackages` finds them. The same packages give the same bytes. */
export function billOfMaterials(packages, { name, version, license }) {
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { type: 'application', name, version, licenses: [{ license: { id: license } }] } },
    components: packages.map((found) => ({
      type: 'library',
      name: found.name,
      version: found.version,
      'bom-ref': address(found.name, found.version),
      purl: address(found.name, found.version),
      licenses: [{ license: { id: found.license } }],
    })),
  };
}

export async function writeBillOfMaterials(packages, product, file) {
  await writeFile(file, `${JSON.stringify(billOfMaterials(packages, product), null, 2)}\n`);
}
