/** The figures of endpoints in lists cover the period that their names state. */
import { describe, expect, test } from "@jest/globals";
import { EndpointRecord } from "@sluice/inference-svc/models/routing/records/endpoint-record.js";
import { RecentPercentiles } from "@sluice/inference-svc/models/routing/records/percentiles.js";

const minute = 60_000;

describe("the listed latency of the last 30 minutes", () => {
  test("is listed for 30 minutes after the last call, while routing uses five minutes", () => {
    const latency = new RecentPercentiles();
    latency.add(0.2, 0);
    for (const now of [0, 12 * minute, 26 * minute]) expect(latency.atInHalfHour(0.5, now)).toBeCloseTo(0.2, 1);
    expect(latency.at(0.5, 6 * minute)).toBeUndefined();
    expect(latency.atInHalfHour(0.5, 31 * minute)).toBeUndefined();
  });
});

describe("the listed uptime of an endpoint", () => {
  const end = (record: EndpointRecord, how: "well" | "failed", now: number) => record.ejection.begin(now).end(how, now);

  test("is the share of successful attempts in each span", () => {
    const { ejection } = new EndpointRecord();
    const record = { ejection } as EndpointRecord;
    end(record, "failed", 0);
    for (const now of [10 * minute, 40 * minute, 41 * minute]) end(record, "well", now);
    const now = 42 * minute;
    const { uptime } = ejection;
    expect([uptime.percent("fiveMinutes", now), uptime.percent("halfHour", now), uptime.percent("day", now)]).toEqual([
      100, 100, 75,
    ]);
    expect(uptime.percent("fiveMinutes", now + 6 * minute)).toBeUndefined();
    expect(uptime.percent("day", now + 25 * 60 * minute)).toBeUndefined();
  });

  test("keeps the failures before the end of an ejection", () => {
    const { ejection } = new EndpointRecord();
    for (let n = 0; n < 5; n++) ejection.begin(0).end("failed", 0);
    const trial = ejection.begin(400_000);
    trial.committed(400_000);
    trial.end("well", 400_000);
    expect(ejection.uptime.percent("halfHour", 400_000)).toBeCloseTo(16.7, 1);
  });

  test("ignores attempts that say nothing about the endpoint", () => {
    const { ejection } = new EndpointRecord();
    ejection.begin(0).end("neither", 0);
    expect(ejection.uptime.percent("day", 0)).toBeUndefined();
  });
});
