/** What `npm start` says of variables that cannot be: which one, and what it would take. */
import { expect, test } from "@jest/globals";
import { readSettings } from "@sluice/local/settings.js";

test.each([
  [{ SLUICE_PORT: "http" }, "SLUICE_PORT: must be a port, 1 to 65535"],
  [{ SLUICE_INFERENCE_HTTP_PORT: "65536" }, "SLUICE_INFERENCE_HTTP_PORT: must be a port, 1 to 65535"],
  [{ DATABASE_URL: "127.0.0.1:5432/sluice" }, "DATABASE_URL: must be postgres://user:password@host:port/database"],
  [{ DATABASE_URL: "mysql://127.0.0.1/sluice" }, "DATABASE_URL: must be postgres://user:password@host:port/database"],
])("%j", (environment, message) => {
  expect(() => readSettings(environment)).toThrow(`environment:\n  ${message}`);
});
