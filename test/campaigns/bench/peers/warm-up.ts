/** Warm-up by count: each subject serves the same number of requests and of events of each kind before any measurement. */
import type { Bench } from "../bench.ts";
import type { SubjectLoad } from "../measure/subject-windows.ts";
import { firstEventScript } from "../scenarios/first-event.ts";
import { deltasOf, hasJsonAnswer } from "../script.ts";
import type { LoadSubject } from "../subject.ts";
import { costs } from "./costs.ts";

type WarmUpLoad = Omit<SubjectLoad, "spreadMs">;

const loads: readonly WarmUpLoad[] = [...costs.map(({ load }) => load), { script: firstEventScript, connections: 8 }];

export async function warmUp(bench: Bench, subjects: readonly LoadSubject[]): Promise<void> {
  for (const load of loads) {
    for (const subject of [bench.pipe, ...subjects]) {
      bench.say(`warm-up of ${subject.name}: ${load.script.kind}`);
      // If a gateway cannot serve a load, the cells of its rows say so.
      await serve(bench, load, subject).catch((error: Error) => bench.say(`  ${error.message.split("\n", 1)[0]}`));
    }
  }
}

function serve({ load, pace }: Bench, { script, form, connections }: WarmUpLoad, { target }: LoadSubject) {
  const count = Math.ceil(pace.warmUpUnits / (hasJsonAnswer(script) ? 1 : deltasOf(script)));
  return load.call("exchangeAll", { target, script, ...(form && { form }), connections, count });
}
