/** Tests that need no Postgres and no processes of Sluice, less than two minutes of them on two processors. */
import all from "./jest.config.mjs";

const { globalSetup, globalTeardown, ...config } = all;

/** These read records in Postgres, or answers of an installation. */
const needsMore = ["contract/answers", "models/ledger/ledger", "models/ledger/full-disk", "engine/ledger-turns"];
/** Folders that take ten seconds and more, mostly with large texts and generated values; `npm test -- guardrails` runs one of them. */
const longFolders = ["features/(file-parser|guardrails|healing|web)", "models/vendor-rules"];
/** Files that take seven seconds and more. */
const longFiles = [
  "features/(compression/compression|fusion/fusion(-tool)?)",
  "gateway/(hostile-bodies|http|impatience)",
  "inference-svc/services/metered-services",
  "models/dialects/(cohere-stream|converse-stream|repeated-requests)",
  "models/(ledger/earlier-version|routing/(fallback|limits|rendezvous)|servers/bytes)",
  "models/upstream/(coded-answers|exchange|provider-words)",
  "proto/(json-scan|log-output|tls)",
];

export default {
  ...config,
  testMatch: ["<rootDir>/{contract,gateway,inference-svc,lane,proto}/**/*.test.js"],
  testPathIgnorePatterns: [
    ...longFolders.map((folder) => `/${folder}/`),
    ...[...needsMore, ...longFiles].map((file) => `/${file}\\.test\\.js$`),
  ],
};
