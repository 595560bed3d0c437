/** What `npm start` and the services say of variables that cannot be: which one, and what it would take. */
import { expect, test } from "@jest/globals";
import { environment as gateway } from "@sluice/gateway/config.js";
import { readSettings } from "@sluice/local/settings.js";
import { readEnvironment } from "@sluice/proto/runtime/config.js";

test.each([
  [{ SLUICE_PORT: "http" }, "SLUICE_PORT: must be a port, 1 to 65535"],
  [{ SLUICE_INFERENCE_HTTP_PORT: "65536" }, "SLUICE_INFERENCE_HTTP_PORT: must be a port, 1 to 65535"],
  [{ DATABASE_URL: "127.0.0.1:5432/sluice" }, "DATABASE_URL: must be postgres://user:password@host:port/database"],
  [{ DATABASE_URL: "mysql://127.0.0.1/sluice" }, "DATABASE_URL: must be postgres://user:password@host:port/database"],
])("%j", (environment, message) => {
  expect(() => readSettings(environment)).toThrow(`environment:\n  ${message}`);
});

const complete = {
  SLUICE_SERVICE_TOKEN: "t".repeat(64),
  SLUICE_CONFIG: "sluice.yaml",
  SLUICE_ADMIN_ADDRESS: "admin-svc:8082",
  SLUICE_INFERENCE_ADDRESSES: "inference-svc:8081",
};

test.each([
  [{ SLUICE_ADMIN_ADDRESS: undefined }, "SLUICE_ADMIN_ADDRESS: is not set"],
  [{ SLUICE_SERVICE_TOKEN: "" }, "SLUICE_SERVICE_TOKEN: is not set"],
  [{ SLUICE_ADMIN_ADDRESS: "http://admin-svc" }, "SLUICE_ADMIN_ADDRESS.0: host:port, several separated by commas"],
  [{ SLUICE_ADMIN_ADDRESS: "admin-svc:80820" }, "SLUICE_ADMIN_ADDRESS.0: host:port, several separated by commas"],
  [{ REDIS_URL: "127.0.0.1:6379" }, "REDIS_URL: must be redis://host:port, or rediss:// with TLS"],
])("a gateway with %j", (variables, message) => {
  expect(() => readEnvironment(gateway, { ...complete, ...variables })).toThrow(`environment:\n  ${message}`);
});
