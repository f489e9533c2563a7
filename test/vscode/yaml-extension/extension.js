// Exports what the YAML extension exports to those that contribute schemas, and shows tests who did.
exports.activate = () => {
  const contributors = new Map();
  return {
    contributors,
    registerContributor(schema, requestSchema, requestSchemaContent) {
      if (contributors.has(schema)) return false;
      contributors.set(schema, { requestSchema, requestSchemaContent });
      return true;
    },
  };
};
