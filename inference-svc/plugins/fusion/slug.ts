/** `service/fusion`: a panel of models answers first, and after it the model that has compared what they say. */
import { invalid } from "@sluice/proto/runtime/validation/problems.js";
import { type SettingsParts, settingsOf } from "../../fusion/settings.ts";
import { pluginWishes } from "../../fusion/wishes.ts";
import type { TurnRequest } from "../../turn/request.ts";
import { type Layer, onRequest } from "../../turn/turn.ts";

/** Variants are those of the model that answers. */
const slug = /^service\/fusion(:(?:nitro|floor))?$/;

export const asksForFusion = ({ models }: TurnRequest): boolean => models.some((model) => slug.test(model));

/** Puts the model that answers in the place of the slug. @throws Fault INVALID_REQUEST, naming what the operator can set */
export const fusionSlug = (parts: SettingsParts): Layer =>
  onRequest((request, scope) => {
    if (!asksForFusion(request)) return request;
    const [first = "", ...others] = request.models;
    const found = slug.exec(first);
    if (!found || others.some((model) => slug.test(model))) {
      throw invalid("models", "service/fusion can only be the first: no panel stands behind another model");
    }
    const { model } = settingsOf([pluginWishes(request.plugins?.fusion)], parts, scope);
    scope.trace.strategy = "fusion";
    return { ...request, models: [...new Set([`${model}${found[1] ?? ""}`, ...others])], fused: true };
  });
