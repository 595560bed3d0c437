/** Error messages of `npm start` and the services for invalid variables: the variable, and its permitted values. */
import { expect, test } from "@jest/globals";
import { environment as gateway } from "@sluice/gateway/config.js";
import { environment as admin } from "@sluice/admin-svc/config.js";
import { environment as inference } from "@sluice/inference-svc/assembly/config.js";
import { findMisspelledVariables } from "@sluice/local/unknown-variables.js";
import { readSettings, settingNames } from "@sluice/local/settings.js";
import { readEnvironment } from "@sluice/proto/lib/process/environment.js";
import { redisAddressRule } from "@sluice/proto/lib/redis/address.js";

test.each([
  [{ SLUICE_PORT: "http" }, "SLUICE_PORT: must be a port, 1 to 65535"],
  [{ SLUICE_INFERENCE_HTTP_PORT: "65536" }, "SLUICE_INFERENCE_HTTP_PORT: must be a port, 1 to 65535"],
  [{ DATABASE_URL: "127.0.0.1:5432/sluice" }, "DATABASE_URL: must be postgres://user:password@host:port/database"],
  [{ DATABASE_URL: "mysql://127.0.0.1/sluice" }, "DATABASE_URL: must be postgres://user:password@host:port/database"],
])("the setting %j is refused by name", (environment, message) => {
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
  [{ REDIS_URL: "127.0.0.1:6379" }, `REDIS_URL: ${redisAddressRule}`],
  [{ REDIS_URL: "redis+sentinel://127.0.0.1:26379" }, `REDIS_URL: ${redisAddressRule}`],
  [{ REDIS_URL: "redis+sentinel://127.0.0.1:26379/main/zero" }, `REDIS_URL: ${redisAddressRule}`],
  [{ REDIS_URL: "redis+sentinel://127.0.0.1:26379/main?sentinel_pasword=s" }, `REDIS_URL: ${redisAddressRule}`],
  [{ REDIS_URL: "redis+sentinel://user:%zz@127.0.0.1:26379/main" }, `REDIS_URL: ${redisAddressRule}`],
  [{ REDIS_URL: "redis+cluster://127.0.0.1:6379,/" }, `REDIS_URL: ${redisAddressRule}`],
  [{ REDIS_URL: "redis+cluster://127.0.0.1:6379/1" }, `REDIS_URL: ${redisAddressRule}`],
])("a gateway refuses to start with the setting %j", (variables, message) => {
  expect(() => readEnvironment(gateway, { ...complete, ...variables })).toThrow(`environment:\n  ${message}`);
});

test.each([
  ["SLUICE_LOGLEVEL", "SLUICE_LOG_LEVEL"],
  ["SLUICE_PROT", "SLUICE_PORT"],
  ["SLUICE_DRAIN_LIMIT", "SLUICE_DRAIN_LIMIT_MS"],
  ["SLUICE_INFERENCE_REPLICA", "SLUICE_INFERENCE_REPLICAS"],
])("the unknown variable %s is reported, with the likely intended name", (name, meant) => {
  expect(findMisspelledVariables({ [name]: "1", PATH: "/bin" }, settingNames)).toEqual([
    `${name} is not a variable of Sluice; did you mean ${meant}?`,
  ]);
});

test("users' own variables, and all variables read by a service, are not reported as unknown", () => {
  const read = [gateway, inference, admin].flatMap(({ shape }) => Object.keys(shape));
  const names = [...read, ...settingNames, "SLUICE_KEY", "SLUICE_URL", "SLUICE_MANAGEMENT_KEY", "SLUICE_ACME_API_KEY"];
  expect(findMisspelledVariables(Object.fromEntries(names.map((name) => [name, "1"])), settingNames)).toEqual([]);
  // A variable missing in the list would not be suggested for its misspelling, or another one would be.
  const ours = new Set(names.filter((name) => name.startsWith("SLUICE_")));
  for (const name of [...read, ...settingNames].filter((name) => ours.has(name))) {
    expect(findMisspelledVariables({ [`${name}X`]: "1" }, settingNames)[0]).toContain(`did you mean ${name}?`);
  }
});
