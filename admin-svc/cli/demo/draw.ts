/** Generates the requests of the demo at random; the same seed and time give the same requests. */
import { type Application, type DemoModel, applications, opusModel, outage, runaway } from "./scenario.ts";

/** A request of the demo. Times are epoch milliseconds. */
export interface DemoRequest {
  readonly at: number;
  readonly application: Application;
  readonly model: DemoModel;
  readonly outcome: "completed" | "incomplete" | "cancelled" | "refused" | "over-limit" | "outage" | "failed";
  readonly prompt: number;
  readonly answer: number;
  readonly cached: number;
  readonly firstMs: number;
  readonly durationMs: number;
  readonly user: string | undefined;
  readonly session: string | undefined;
}

export type Random = () => number;

/** A generator of random numbers from 0 to 1 (mulberry32), which gives the same numbers on every machine. */
export function seededRandom(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const hourMs = 3_600_000;

/** Generates the requests of the last days, sorted by time. @param now epoch milliseconds */
export function drawRequests(random: Random, now: number, days: number): readonly DemoRequest[] {
  const requests: DemoRequest[] = [];
  for (let hour = days * 24; hour > 0; hour--) {
    const from = now - hour * hourMs;
    for (const application of applications) {
      const count = Math.round(expectedRequests(application, from) * (0.6 + 0.8 * random()) + random() - 0.5);
      let person = drawPerson(random, application, from);
      for (let index = 0; index < count; index++) {
        if (random() < 1 / requestsOfSession) person = drawPerson(random, application, from);
        requests.push(drawRequest(random, { application, person, at: from + random() * hourMs, now }));
      }
    }
  }
  return [...requests, ...drawRunaway(random, now)].toSorted((one, other) => one.at - other.at);
}

/**
 * Expected number of requests of an application in one hour. Applications used by people have fewer at night and on
 * weekends.
 */
function expectedRequests({ requests, isByDay }: Application, at: number): number {
  if (!isByDay) return requests / 24;
  const date = new Date(at);
  const isWeekend = date.getUTCDay() % 6 === 0;
  const daylight = Math.max(0.04, Math.sin((Math.PI * (date.getUTCHours() - 5)) / 15));
  return (requests / 10) * daylight * (isWeekend ? 0.25 : 1);
}

function drawRunaway(random: Random, now: number): DemoRequest[] {
  const application = applications.find(({ name }) => name === runaway.application) as Application;
  return Array.from({ length: runaway.requests }, () => {
    const at = now - (runaway.to + random() * (runaway.from - runaway.to)) * hourMs;
    const person = drawPerson(random, application, at);
    return {
      ...drawRequest(random, { application, person, at, now }),
      model: opusModel,
      outcome: "completed" as const,
    };
  });
}

/** Average number of requests in a session. */
const requestsOfSession = 6;

/** The end user of a request, and its session. */
type Person = Pick<DemoRequest, "user" | "session">;

function drawPerson(random: Random, { name, users, hasSessions }: Application, at: number): Person {
  if (users === 0) return { user: undefined, session: undefined };
  const user = `${name}-user-${1 + Math.floor(random() ** 2 * users)}`;
  const start = new Date(at).toISOString().slice(5, 13);
  const session = hasSessions ? `${user}-${start}-${Math.floor(random() * 1_000)}` : undefined;
  return { user, session };
}

interface Occasion {
  readonly application: Application;
  readonly person: Person;
  readonly at: number;
  readonly now: number;
}

function drawRequest(random: Random, { application, person, at, now }: Occasion): DemoRequest {
  const model = random() < 0.75 ? application.models[0] : application.models.at(-1);
  const { provider, speed } = model as DemoModel;
  const outcome = drawOutcome(random, application, (now - at) / hourMs, provider);
  const prompt = Math.round(application.tokens[0] * spread(random));
  const answer =
    outcome === "completed" || outcome === "incomplete" ? Math.round(application.tokens[1] * spread(random)) : 0;
  const firstMs = Math.round(180 + 420 * spread(random) + prompt / 60);
  return {
    at: Math.floor(at),
    application,
    model: model as DemoModel,
    outcome,
    prompt,
    answer,
    cached: Math.floor(prompt * application.cached * random()),
    firstMs,
    durationMs: firstMs + (speed === 0 ? 0 : Math.round((answer / speed) * 1_000)),
    ...person,
  };
}

/** A random factor around 1, seldom below a third or above 3. */
const spread = (random: Random): number => Math.exp((random() + random() + random() - 1.5) * 1.2);

function drawOutcome(
  random: Random,
  { name }: Application,
  hoursAgo: number,
  provider: string,
): DemoRequest["outcome"] {
  const draw = random();
  const isDown = provider === outage.provider && hoursAgo < outage.from && hoursAgo > outage.to;
  if (isDown && draw < 0.85) return "outage";
  if (name === "support-bot" && draw < 0.012) return "refused";
  if (draw < 0.016) return "failed";
  if (draw < 0.024) return "over-limit";
  if (draw < 0.03) return "cancelled";
  return draw < 0.04 ? "incomplete" : "completed";
}
