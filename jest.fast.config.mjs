/** Tests that need no Postgres and no processes of Sluice. */
import all from "./jest.config.mjs";

const { globalSetup, globalTeardown, ...config } = all;

export default {
  ...config,
  testMatch: ["<rootDir>/{contract,gateway,inference-svc,lane,proto,responses}/**/*.test.js"],
  // These read records in Postgres, or answers of an installation.
  testPathIgnorePatterns: ["/contract/answers", "/ledger/ledger", "/ledger/full-disk", "/engine/ledger-turns"].map(
    (file) => `${file}\\.test\\.js$`,
  ),
};
