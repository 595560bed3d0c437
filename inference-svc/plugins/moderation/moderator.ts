/** Who looks at texts for the plugin `moderation`: a service with POST /moderations, or a model that is asked about each category. */
import { type ModerationRole, serviceSlug } from "@sluice/proto/runtime/house/internal-models.js";
import { model } from "@sluice/proto/runtime/house/model.js";
import { type Occasion, type Route, forbidden } from "../../internal/call.ts";
import type { Detector } from "../../internal/detection/detector.ts";
import { NoAnswer } from "../../internal/detection/mark.ts";
import { NoVerdict } from "../../internal/inquiry.ts";
import { Judge } from "../../internal/judge.ts";
import { windowsOf } from "../../internal/windows.ts";
import { type Telling, candidatesOf } from "../../routing/candidates.ts";
import { Catalog } from "../../routing/catalog.ts";
import { policyFilters } from "../../routing/policies.ts";
import type { Router } from "../../routing/router.ts";
import { appliedTo } from "../../turn/applied.ts";
import type { Turn } from "../../turn/turn.ts";

/** A text that nobody else shall read, and why. */
export interface Flagged {
  readonly category: string;
  /** The stretch that was looked at. */
  readonly text: string;
}

export interface Moderator {
  /** Its name, as stages have it. */
  readonly model: string;
  readonly fail: ModerationRole["fail"];
  /** Why the data policy of the occasion forbids that it is asked; empty when it may be. */
  forbidden(occasion: Occasion): readonly string[];
  /** Empty when nothing is. @throws Unmoderated; Fault when the turn is over */
  flagged(texts: readonly string[], occasion: Occasion): Promise<readonly Flagged[]>;
}

/** It was not looked, which is never the same as having found nothing. */
export class Unmoderated extends Error {}

export interface ModeratorParts {
  /** Asks the endpoints of a model, past all layers. */
  readonly turn: Turn;
  readonly router: Router;
  readonly telling: Telling;
  /** Where the role names a provider. */
  readonly service: Detector | undefined;
}

/** Undefined: the house has none. */
export function moderatorOf(role: ModerationRole | undefined, parts: ModeratorParts): Moderator | undefined {
  if (role?.model !== undefined) return modelModerator(role, role.model, parts);
  return role && parts.service && serviceModerator(role, parts.service, parts);
}

/** As if it were a model of the house file: it has the data policy of its provider. */
function serviceModerator(role: ModerationRole, service: Detector, { router, telling }: ModeratorParts): Moderator {
  const slug = serviceSlug(role);
  const endpoints = [{ provider: role.provider, upstream_model: role.upstream_model }];
  const catalog = new Catalog({
    providers: [...router.catalog.providers.values()],
    models: [model.parse({ id: slug, endpoints })],
  });
  const route: Route = (request, { caller, trace }) =>
    candidatesOf(catalog, request, telling, { excluded: trace.excluded, policies: policyFilters(appliedTo(caller)) });
  return {
    model: slug,
    fail: role.fail,
    forbidden: (occasion) => forbidden(route, { ...question, model: slug }, occasion),
    async flagged(texts, { scope }) {
      try {
        const found = await service.find(texts, scope);
        return [...found].flatMap(([text, marks]) =>
          marks.map(({ category, start, end }) => ({ category, text: text.slice(start, end) })),
        );
      } catch (cause) {
        throw cause instanceof NoAnswer ? new Unmoderated("the moderation service gave no answer", { cause }) : cause;
      }
    },
  };
}

/** UTF-16 units that a model reads at a time. */
const windowLength = 8_000;
/** More than anybody says in one turn. */
const mostQuestions = 512;
/** Of a model's probability, where the operator says nothing else. */
const usualThreshold = 0.5;

const task =
  "You are shown what a user has written to an assistant. You decide whether that text breaks one rule. Judge by that rule alone. A text that asks " +
  "about a matter, reports on it, or seeks help against it does not break a rule against doing it.";

function modelModerator(role: ModerationRole, slug: string, { turn, router }: ModeratorParts): Moderator {
  const judge = new Judge(turn, { ...role, model: slug }, { task, purpose: "moderation" });
  const rules = Object.entries(role.categories);
  return {
    model: slug,
    fail: role.fail,
    forbidden: (occasion) => judge.forbidden((request, scope) => router.able(request, scope), occasion),
    async flagged(texts, occasion) {
      const windows = texts.flatMap((text) => [...windowsOf(text, windowLength)]);
      if (windows.length * rules.length > mostQuestions) throw new Unmoderated(`${windows.length} stretches of text`);
      const questions = windows.flatMap(({ text }) => rules.map(([category, rule]) => ({ category, rule, text })));
      const answers = await Promise.allSettled(
        questions.map(({ rule, text }) => judge.probability(rule, text, occasion)),
      );
      const flagged = questions.filter(({ category }, index) => {
        const answer = answers[index];
        return answer?.status === "fulfilled" && answer.value >= (role.thresholds[category] ?? usualThreshold);
      });
      const failed = answers.find((answer) => answer.status === "rejected");
      if (flagged.length > 0 || failed === undefined) return flagged;
      const cause: unknown = failed.reason;
      throw cause instanceof NoVerdict ? new Unmoderated("the moderation model gave no verdict", { cause }) : cause;
    },
  };
}

/** Asked of no model: it only stands for who would be. */
const question = { purpose: "moderation", instructions: "", text: "", maxOutputTokens: 1, logprobs: false } as const;
