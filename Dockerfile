# The command line and the language server in an image: docker run --rm -v "$PWD:/work" oomlint check
FROM node:22-bookworm-slim AS build
WORKDIR /source
COPY . .
# The date of the commit is not in the image of the source.
ENV SOURCE_DATE_EPOCH=1577836800
RUN npm ci && npm run package:npm

FROM node:22-bookworm-slim
# `diff` and `check --since` read commits.
RUN apt-get update && apt-get install --yes --no-install-recommends git && rm -rf /var/lib/apt/lists/* \
    && git config --system --add safe.directory '*'
RUN --mount=type=bind,from=build,source=/source/out/npm,target=/packed npm install --global --offline /packed/oomlint-*.tgz
USER node
WORKDIR /work
ENTRYPOINT ["oomlint"]
CMD ["check"]
