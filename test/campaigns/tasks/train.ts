/** Multinomial logistic regression on buckets, by stochastic gradient descent. The same seed gives the same weights. */
import {
  featureBuckets,
  bucketsOf,
  extractTaskFeatures,
} from "@sluice/inference-svc/features/routers/auto/tasks/features.js";
import { type ModelFile, featureWeight, toModelFile } from "@sluice/inference-svc/features/routers/auto/tasks/model.js";
import { type Task, trainedTasks } from "@sluice/inference-svc/features/routers/auto/tasks/tasks.js";
import { Random } from "../../support/random.ts";
import { type Example, type TaskFixture, fillLine, requestOf } from "./texts.ts";

interface Sample {
  readonly found: ReadonlySet<number>;
  readonly label: number;
}

/**
 * Factor for the number of samples of a task, which grows with the square root of its lines: tasks with more lines vary more, but none must become
 * the default guess.
 */
const samplesPerRoot = 270;
const rounds = 6;
const step = 2;
/** Weight decay, by which a word seen only once gets little weight. */
const decay = 1e-4;
/**
 * Learning rate of the bias relative to that of the weights: tasks are equally frequent in training but not elsewhere, so the bias should learn
 * little.
 */
const biasShare = 0.05;
const count = trainedTasks.length;

/** Instructions that do not hint at the task. */
const usualInstructions = [
  "You are a helpful assistant.",
  "You are a helpful, honest assistant. Answer in the language of the user.",
  "Be concise. Use Markdown where it helps.",
  "You are an AI assistant of a company. Today is Monday.",
  "Answer truthfully and do not make things up.",
];
const greetings = ["Hi, ", "Hello! ", "Please help. ", "Quick question: ", "Hey, ", "ok so ", "I was wondering: "];
/** Tasks whose text consists of data; their instructions may state what to do. */
const ofData: ReadonlySet<Task> = new Set(["document", "translate"]);

function sampleOf({ task, line }: Example, { lists }: TaskFixture, chance: Random): Sample {
  let text = fillLine(line, lists, chance);
  const hasInstructions = text.includes(" || ");
  const hasMarks = text.startsWith("[");
  const prose = chance.pick(lists.get("prose") ?? [""]);
  if (!hasInstructions && !hasMarks && ofData.has(task) && chance.chance(0.2)) text = `${text} || ${prose}`;
  else if (!hasInstructions && !hasMarks) {
    if (task !== "chat" && chance.chance(0.15)) text = chance.pick(greetings) + text;
    if (chance.chance(0.3)) text = `${chance.pick(usualInstructions)} || ${text}`;
    // Many clients send tools with every request, so tools are added to some samples.
    if (chance.chance(0.06)) text = `[tools]${text}`;
  }
  return { found: bucketsOf(extractTaskFeatures(requestOf(text))), label: trainedTasks.indexOf(task) };
}

/** Learned weights of each task in each bucket, and the bias of each task. */
class Descent {
  readonly weights = new Float64Array(featureBuckets * count);
  readonly bias = new Float64Array(count);
  readonly #scores = new Float64Array(count);

  learn({ found, label }: Sample, rate: number): void {
    const wrong = this.#scores;
    this.#guess(found);
    for (let task = 0; task < count; task++) {
      wrong[task] = rate * (Number(task === label) - wrong[task]!);
      this.bias[task]! += biasShare * wrong[task]!;
    }
    const share = featureWeight(found);
    for (const bucket of found) {
      for (let task = 0; task < count; task++) {
        const at = bucket * count + task;
        this.weights[at] = this.weights[at]! * (1 - rate * decay) + share * wrong[task]!;
      }
    }
  }

  /** Computes the probability of each task, and stores it in the scores. */
  #guess(found: ReadonlySet<number>): void {
    const scores = this.#scores;
    const share = featureWeight(found);
    scores.set(this.bias);
    for (const bucket of found) {
      for (let task = 0; task < count; task++) scores[task]! += share * this.weights[bucket * count + task]!;
    }
    const highest = Math.max(...scores);
    let total = 0;
    for (let task = 0; task < count; task++) total += scores[task] = Math.exp(scores[task]! - highest);
    for (let task = 0; task < count; task++) scores[task]! /= total;
  }
}

export function trainTaskModel(fixture: TaskFixture): ModelFile {
  const chance = new Random(29);
  const samples = trainedTasks.flatMap((task) => {
    const own = fixture.examples.filter((example) => example.task === task);
    return Array.from({ length: Math.round(samplesPerRoot * Math.sqrt(own.length)) }, () =>
      sampleOf(chance.pick(own), fixture, chance),
    );
  });
  const descent = new Descent();
  for (let round = 0; round < rounds; round++) {
    for (let each = 0; each < samples.length; each++) descent.learn(chance.pick(samples), step / (1 + round));
  }
  return toModelFile(descent.weights, [...descent.bias]);
}
