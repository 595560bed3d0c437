/** Tests are compiled by tsc and run as they are: no transform, the same modules as in production. */
export default {
  rootDir: "test/dist",
  testMatch: ["<rootDir>/**/*.test.js"],
  transform: {},
  globalSetup: "<rootDir>/support/runner/setup.js",
  globalTeardown: "<rootDir>/support/runner/teardown.js",
  testSequencer: "<rootDir>/support/runner/sequencer.js",
  reporters: ["<rootDir>/support/runner/reporter.js"],
  // Twice the cores of a small machine: three workers left a fifth of two processors idle, as tests wait for limits to run out and for installations.
  maxWorkers: 4,
  // Modules of a finished file are never freed: at the end of a run each worker held 4 GB, and small files took ten seconds of garbage collection.
  workerIdleMemoryLimit: "600MB",
  // A bound for what hangs and no claim about speed: the machine may be ten times slower than the one at hand.
  testTimeout: 120_000,
};
