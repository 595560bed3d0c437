/** Lines of the log about calls that were refused. */
import { expect, test } from "@jest/globals";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { KeyKind, hashKey, mintKey } from "@sluice/proto/lib/ids/key.js";
import { networkRefusal } from "@sluice/proto/lib/policy/allowed-networks.js";
import { invalidKey } from "@sluice/proto/lib/rpc/caller.js";
import { refusalLog } from "@sluice/proto/lib/rpc/refusal-log.js";

const token = "a-service-token-of-at-least-thirty-two-characters";
const key = mintKey(KeyKind.INFERENCE);
const refusedFrom = (peer: string) => ({
  path: "/a/B?message=c",
  presented: null,
  authorization: `Bearer ${key}`,
  peer,
});

function recorded(logsAddresses: boolean) {
  const lines: object[] = [];
  const log = { info: (fields: object) => lines.push(fields) } as never;
  return { lines, refuse: refusalLog({ log, token, logsAddresses: () => logsAddresses }) };
}

test.each([true, false])(
  "the log line of a refusal has the hash of the key, and the address if this is enabled: %s",
  (isOn) => {
    const { lines, refuse } = recorded(isOn);
    refuse(refusedFrom("::ffff:192.0.2.1"), networkRefusal("192.0.2.1"));
    refuse({ ...refusedFrom("192.0.2.1"), authorization: "Bearer x" }, invalidKey());
    const address = isOn && { address: "192.0.2.1" };
    expect(lines).toEqual([
      {
        method: "POST",
        route: "/a/B",
        status: 403,
        error_type: "permission_denied",
        key_hash: hashKey(key),
        ...address,
      },
      { method: "POST", route: "/a/B", status: 401, error_type: expect.any(String), ...address },
    ]);
  },
);

test("refusals without a usable key have 60 log lines a minute of a client and 600 in all, others all lines", () => {
  const { lines, refuse } = recorded(false);
  for (let n = 0; n < 100; n++) refuse(refusedFrom("192.0.2.1"), invalidKey());
  expect(lines).toHaveLength(60);
  for (let n = 0; n < 1_000; n++) refuse(refusedFrom(`192.0.${n % 100}.7`), networkRefusal("192.0.2.1"));
  expect(lines).toHaveLength(600);
  for (let n = 0; n < 1_000; n++) refuse(refusedFrom("192.0.2.1"), new Fault(FaultReason.INVALID_REQUEST));
  expect(lines).toHaveLength(1_600);
});
