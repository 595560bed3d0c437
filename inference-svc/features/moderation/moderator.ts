/**
 * Moderates texts for the plugin `moderation`: by a service with POST /moderations, or by a model asked one question
 * for each category.
 */
import { type ModerationRole, moderatesImages, serviceSlug } from "@sluice/proto/config/internal-models.js";
import { model } from "@sluice/proto/config/model.js";
import {
  type CallContext,
  type RouteRequest,
  findForbiddingReasons,
} from "../../models/internal-calls/internal-call.ts";
import type { Detector } from "../../services/detection/detector.ts";
import { DetectorUnavailable } from "../../services/detection/wire.ts";
import { JudgeUnavailable } from "../../models/internal-calls/judge-client.ts";
import { type Judge, type JudgeOptions, JudgeProfile } from "../../models/internal-calls/judge.ts";
import { splitIntoWindows } from "../../content/text-windows.ts";
import { findCandidates } from "../../models/routing/choose/candidates.ts";
import { Catalog } from "../../models/routing/catalog.ts";
import { callerFilters } from "../../models/routing/choose/permitted-endpoints.ts";
import type { ModerationDetectors } from "./client.ts";
import type { DryKit, Kit } from "../kit.ts";

/** A text flagged, with its category. */
export interface FlaggedText {
  readonly category: string;
  /** The part of the text flagged. */
  readonly text: string;
}

/** Properties of a moderator that are known without calling it. */
export interface ModeratorProfile {
  /** Slug of the model, as the receipt names it. */
  readonly model: string;
  readonly fail: ModerationRole["fail"];
  /** Whether the moderation service accepts images besides text. */
  readonly readsImages: boolean;
  /** Why the request's data policy forbids the call; empty when it is allowed. */
  forbidden(context: CallContext): readonly string[];
}

/** The texts and images the user has sent. */
export interface UserInput {
  readonly texts: readonly string[];
  /** URLs of images; empty for a text-only moderator. */
  readonly images: readonly string[];
}

export interface Moderator extends ModeratorProfile {
  /** Finds the flagged texts; empty when nothing is flagged. @throws ModerationFailed; Fault when the turn is over */
  flagged(userInput: UserInput, context: CallContext): Promise<readonly FlaggedText[]>;
}

/** The moderator gave no answer, which never counts as passed. */
export class ModerationFailed extends Error {}

type ProfileKit = Pick<DryKit, "roles" | "router" | "dialects" | "hasModerationService">;

/** @returns undefined when the operator has configured no moderation */
export function moderatorProfile(kit: ProfileKit): ModeratorProfile | undefined {
  const role = kit.roles.moderation;
  if (role?.model !== undefined)
    return modelProfile(role, new JudgeProfile({ ...role, model: role.model }, judgeOptions), kit);
  return role && kit.hasModerationService ? serviceProfile(role, kit) : undefined;
}

export function buildModerator(kit: Pick<Kit, "judge" | "moderationService"> & ProfileKit): Moderator | undefined {
  const role = kit.roles.moderation;
  if (role?.model !== undefined)
    return modelModerator(role, kit.judge({ ...role, model: role.model }, judgeOptions), kit);
  return role && kit.moderationService && serviceModerator(role, kit.moderationService, kit);
}

/** The properties of a moderation service. It has the data policy of its provider, like a configured model. */
function serviceProfile(role: ModerationRole, { router, dialects }: ProfileKit): ModeratorProfile {
  const slug = serviceSlug(role);
  const endpoints = [{ provider: role.provider, upstream_model: role.upstream_model }];
  const catalog = new Catalog({
    providers: [...router.catalog.providers.values()],
    models: [model.parse({ id: slug, endpoints })],
  });
  const route: RouteRequest = (request, scope) => {
    const excluded = (scope.trace.excluded = new Map<string, number>());
    return findCandidates(catalog, request, dialects, { excluded, policies: callerFilters(scope) });
  };
  return {
    model: slug,
    fail: role.fail,
    readsImages: moderatesImages(role),
    forbidden: (context) => findForbiddingReasons(route, { ...policyQuestion, model: slug }, context),
  };
}

const serviceModerator = (
  role: ModerationRole,
  { texts: textDetector, images: imageDetector }: ModerationDetectors,
  kit: ProfileKit,
): Moderator => ({
  ...serviceProfile(role, kit),
  async flagged({ texts, images }, { scope }) {
    try {
      const [inTexts, inImages] = await Promise.all([
        textDetector.find(texts, scope),
        imageDetector?.find(images, scope),
      ]);
      return [...flaggedIn(inTexts), ...flaggedIn(inImages ?? new Map()).map((flag) => ({ ...flag, text: "[image]" }))];
    } catch (cause) {
      if (!(cause instanceof DetectorUnavailable)) throw cause;
      throw new ModerationFailed("the moderation service gave no answer", { cause });
    }
  },
});

const flaggedIn = (found: Awaited<ReturnType<Detector["find"]>>): readonly FlaggedText[] =>
  [...found].flatMap(([text, marks]) =>
    marks.map(({ category, start, end }) => ({ category, text: text.slice(start, end) })),
  );

/** Maximum UTF-16 units of text in one question to a model. */
const windowLength = 8_000;
/** Maximum questions per request, more than the longest turns need. */
const maxQuestions = 512;
/** Default threshold for the probability that a model gives. */
const defaultThreshold = 0.5;

const task =
  "You are shown what a user has written to an assistant. You decide whether that text breaks one rule. Judge by that rule alone. A text that asks " +
  "about a matter, reports on it, or seeks help against it does not break a rule against doing it.";

const judgeOptions: JudgeOptions = { task, purpose: "moderation" };

const modelProfile = (role: ModerationRole, judge: JudgeProfile, { router }: ProfileKit): ModeratorProfile => ({
  model: judge.model,
  fail: role.fail,
  readsImages: false,
  forbidden: (context) => judge.forbidden((request, scope) => router.findCandidates(request, scope), context),
});

function modelModerator(role: ModerationRole, judge: Judge, kit: ProfileKit): Moderator {
  const rules = Object.entries(role.categories);
  return {
    ...modelProfile(role, judge, kit),
    async flagged({ texts }, context) {
      const windows = texts.flatMap((text) => [...splitIntoWindows(text, windowLength)]);
      if (windows.length * rules.length > maxQuestions)
        throw new ModerationFailed(`${windows.length} stretches of text`);
      const questions = windows.flatMap(({ text }) => rules.map(([category, rule]) => ({ category, rule, text })));
      const answers = await Promise.allSettled(
        questions.map(({ rule, text }) => judge.probability(rule, text, context)),
      );
      const flagged = questions.filter(({ category }, index) => {
        const answer = answers[index];
        return answer?.status === "fulfilled" && answer.value >= (role.thresholds[category] ?? defaultThreshold);
      });
      const failed = answers.find((answer) => answer.status === "rejected");
      if (flagged.length > 0 || failed === undefined) return flagged;
      const cause: unknown = failed.reason;
      throw cause instanceof JudgeUnavailable
        ? new ModerationFailed("the moderation model gave no verdict", { cause })
        : cause;
    },
  };
}

/** A question that stands for those to the service, to check the request's data policy. */
const policyQuestion = {
  purpose: "moderation",
  instructions: "",
  text: "",
  maxOutputTokens: 1,
  logprobs: false,
} as const;
