/** Tests are compiled by tsc and run as they are: no transform, the same modules as in production. */
export default {
  rootDir: "test/dist",
  testMatch: ["<rootDir>/**/*.test.js"],
  transform: {},
  globalSetup: "<rootDir>/support/runner/setup.js",
  globalTeardown: "<rootDir>/support/runner/teardown.js",
  testSequencer: "<rootDir>/support/runner/sequencer.js",
  reporters: ["<rootDir>/support/runner/reporter.js"],
  // One more than the cores of a small machine: many tests wait, for a limit to run out or for an installation to start.
  maxWorkers: 3,
  // Modules of a finished file are never freed: at the end of a run each worker held 4 GB, and small files took ten seconds of garbage collection.
  workerIdleMemoryLimit: "600MB",
  // A bound for what hangs and no claim about speed: the machine may be ten times slower than the one at hand.
  testTimeout: 120_000,
};
