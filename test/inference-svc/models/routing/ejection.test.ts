/** Ejection of endpoints by their own failures and by hints of other processes. */
import { beforeEach, describe, expect, test } from "@jest/globals";
import { Ejection } from "@sluice/inference-svc/models/routing/attempt/ejection.js";

const longestEjectionMs = 36_000;

let ejection: Ejection;
let told: boolean[];
let now: number;
beforeEach(() => {
  told = [];
  now = 1_000;
  ejection = new Ejection((failing) => told.push(failing));
});

function fail(): void {
  ejection.begin(now).end("failed", now);
}

function succeed(): void {
  const attempt = ejection.begin(now);
  attempt.committed(now);
  attempt.end("well", now);
}

describe("a finding of this process", () => {
  test("is reported once when the endpoint is ejected, and once when it is back", () => {
    for (let n = 0; n < 5; n++) fail();
    expect([ejection.state(now), told]).toEqual(["ejected", [true]]);
    now += longestEjectionMs;
    succeed();
    expect([ejection.state(now), told]).toEqual(["in use", [true, false]]);
  });
});

describe("a hint of a failing endpoint", () => {
  test("lets one request try it, and its failure ejects the endpoint", () => {
    ejection.noteNews(true, now);
    expect(ejection.state(now)).toBe("on trial");
    expect([ejection.claim(now), ejection.claim(now)]).toEqual([true, false]);
    expect(told).toEqual([]);
    fail();
    expect([ejection.state(now), told]).toEqual(["ejected", [true]]);
  });

  test("ends with an answer, and is not passed on", () => {
    ejection.noteNews(true, now);
    succeed();
    expect([ejection.state(now), told]).toEqual(["in use", []]);
    for (let n = 0; n < 4; n++) fail();
    expect(ejection.state(now)).toBe("in use");
  });

  test("does not end by an answer to an earlier request", () => {
    const before = ejection.begin(now);
    now += 1;
    ejection.noteNews(true, now);
    before.committed(now);
    before.end("well", now);
    expect(ejection.state(now)).toBe("on trial");
  });

  test("is forgotten after 30 s without a try", () => {
    ejection.noteNews(true, now);
    expect(ejection.state(now + 29_999)).toBe("on trial");
    expect(ejection.state(now + 30_000)).toBe("in use");
    expect(told).toEqual([]);
  });

  test("is taken back by a hint of its answering", () => {
    ejection.noteNews(true, now);
    ejection.noteNews(false, now);
    expect([ejection.state(now), told]).toEqual(["in use", []]);
  });

  test("changes nothing where the endpoint is ejected already", () => {
    for (let n = 0; n < 5; n++) fail();
    const left = ejection.remainingMs(now);
    ejection.noteNews(true, now);
    expect(ejection.remainingMs(now)).toBe(left);
  });
});

describe("a hint of an answering endpoint", () => {
  test("lets one request try it at once, and its failure ejects the endpoint for longer", () => {
    for (let n = 0; n < 5; n++) fail();
    ejection.noteNews(false, now);
    expect([ejection.state(now), ejection.claim(now), ejection.claim(now)]).toEqual(["on trial", true, false]);
    fail();
    expect(ejection.remainingMs(now)).toBeGreaterThanOrEqual(60_000);
  });

  test("changes nothing where it is in use", () => {
    ejection.noteNews(false, now);
    expect([ejection.state(now), ejection.failing]).toEqual(["in use", false]);
  });
});
