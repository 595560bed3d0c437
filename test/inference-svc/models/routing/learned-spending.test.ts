/** Spending by task: from records through real gRPC and Postgres to the processes ranking models by it. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { create, toJsonString } from "@bufbuild/protobuf";
import { Metadata } from "@grpc/grpc-js";
import { LearnedSpending } from "@sluice/inference-svc/models/routing/records/learned-spending.js";
import { TaskSpending } from "@sluice/inference-svc/models/routing/records/task-spending.js";
import {
  LedgerService,
  RecordUsageRequestSchema,
  SumTaskSpendingRequestSchema,
  type UsageRecord,
  UsageRecordSchema,
} from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { call, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import { sql } from "kysely";
import { type AdminInstallation, openInstallation, serviceToken, timeoutMs } from "../../../admin-svc/installation.ts";
import { usageRecord } from "../../../admin-svc/usage.ts";

let installation: AdminInstallation;
beforeAll(async () => {
  installation = await openInstallation();
});
afterAll(() => installation.close());
beforeEach(() => sql`truncate usage_records`.execute(installation.database));

const dayMs = 86_400_000;
const ago = (days: number) => BigInt(Date.now() - days * dayMs);

async function record(fields: Partial<UsageRecord>): Promise<void> {
  const sent = usageRecord({ openedAtMs: ago(1), bootId: randomUUID(), ...fields });
  const request = create(RecordUsageRequestSchema, {
    recordsJson: [Buffer.from(toJsonString(UsageRecordSchema, sent))],
  });
  await call(installation.client, LedgerService.method.recordUsage, request, serviceMetadata(serviceToken), timeoutMs);
}

let share: number;
let warnings: number;
let spending: TaskSpending;
beforeEach(() => {
  [share, warnings, spending] = [1, 0, new TaskSpending()];
});

function open(): LearnedSpending {
  const log = { warn: () => void warnings++ };
  return new LearnedSpending({ client: installation.client, token: serviceToken, spending, share: () => share, log });
}
async function refresh(): Promise<object> {
  const learned = open();
  await learned.refresh();
  learned.stop();
  return Object.fromEntries(["code", "translate"].map((task) => [task, Object.fromEntries(spending.of(task))]));
}

test("learned spending is summed by task and model, over 7 days and over records with a task", async () => {
  await record({ task: "code", model: "a/large", costUsd: "60" });
  await record({ task: "code", model: "a/large", costUsd: "15.5" });
  await record({ task: "code", model: "a/small", costUsd: "2" });
  await record({ task: "translate", model: "a/small", costUsd: "3" });
  await record({ task: "code", model: "a/small", costUsd: "1000", openedAtMs: ago(7.1) });
  await record({ model: "a/small", costUsd: "1000" });
  expect(await refresh()).toEqual({ code: { "a/large": 75.5, "a/small": 2 }, translate: { "a/small": 3 } });
});

test("the recorded share of requests stands for all of them, and a share of 0 removes all learned scores", async () => {
  await record({ task: "code", model: "a/large", costUsd: "6" });
  share = 0.25;
  expect(await refresh()).toMatchObject({ code: { "a/large": 24 } });
  share = 0;
  expect(await refresh()).toEqual({ code: {}, translate: {} });
});

test("the task of a record is a word, and a text is refused", async () => {
  await expect(record({ task: "Translate my diary" })).rejects.toThrow(/task: must be a word/);
});

test("only internal services get the learned spending", async () => {
  const asked = call(
    installation.client,
    LedgerService.method.sumTaskSpending,
    create(SumTaskSpendingRequestSchema),
    new Metadata(),
    timeoutMs,
  );
  await expect(asked).rejects.toMatchObject({ status: 401 });
});

test("the last learned spending stays in use while admin-svc is unreachable", async () => {
  const away = await openInstallation();
  const parts = { client: away.client, token: serviceToken, share: () => 1, log: { warn: () => void warnings++ } };
  await away.close();
  const learned = new LearnedSpending({ ...parts, spending });
  await learned.refresh();
  expect([warnings, spending.of("code").size]).toEqual([1, 0]);
  spending.replace([{ task: "code", model: "a/large", usd: 9 }]);
  await learned.refresh();
  learned.stop();
  expect([warnings, spending.of("code").get("a/large")]).toEqual([2, 9]);
});
