/** Measures how many held-out requests get the right task, and how many the right kind by the same scores. */
import { bucketsOf, extractTaskFeatures } from "@sluice/inference-svc/features/routers/auto/tasks/features.js";
import { type TaskGuess, type Model, guessTask } from "@sluice/inference-svc/features/routers/auto/tasks/model.js";
import { scoreFor, trainedTasks } from "@sluice/inference-svc/features/routers/auto/tasks/tasks.js";
import { type Example, readFixture, requestOf } from "./texts.ts";

export interface GuessedExample extends Example, Pick<TaskGuess, "confidence"> {
  readonly guessed: TaskGuess["task"];
}

export interface TaskEvaluation {
  readonly requests: number;
  /** Share of the requests that get the expected task, from 0 to 1. */
  readonly sameTask: number;
  readonly sameScores: number;
  /** Share of the texts with a confidence of at least 0.45. */
  readonly confident: number;
  readonly sameTaskOfConfident: number;
  readonly byTask: Readonly<Partial<Record<TaskGuess["task"], TaskAccuracy>>>;
  readonly wrong: readonly GuessedExample[];
}

export interface TaskAccuracy {
  readonly requests: number;
  readonly right: number;
}

const names = { coding: 1, agentic: 2, math: 3, knowledge: 4, writing: 5, vision: 6, general: 7 };

export function evaluateTaskModel(model: Model): TaskEvaluation {
  const judged = readFixture("held-out").examples.map((example): GuessedExample => {
    const { task: guessed, confidence } = guessTask(model, bucketsOf(extractTaskFeatures(requestOf(example.line))));
    return { ...example, guessed, confidence };
  });
  const same = ({ task, guessed }: GuessedExample) => task === guessed;
  const sure = judged.filter(({ confidence }) => confidence >= 0.45);
  return {
    requests: judged.length,
    sameTask: judged.filter(same).length / judged.length,
    sameScores:
      judged.filter(({ task, guessed }) => scoreFor(task, names) === scoreFor(guessed, names)).length / judged.length,
    confident: sure.length / judged.length,
    sameTaskOfConfident: sure.filter(same).length / sure.length,
    byTask: Object.fromEntries(
      trainedTasks.map((task) => {
        const own = judged.filter((each) => each.task === task);
        return [task, { requests: own.length, right: own.filter(same).length }];
      }),
    ),
    wrong: judged.filter((each) => !same(each)),
  };
}
