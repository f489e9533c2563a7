// A reporter of mocha: tests as they pass on the terminal, and the report that is counted in a file.
const { reporters } = require('mocha');

module.exports = class SpecAndJson extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    new reporters.JSON(runner, options);
  }
};
