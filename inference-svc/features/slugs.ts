/** Slugs and variants of model names that features give a meaning; the catalogue has no models of these names. */
import type { TurnRequest } from "../turn/request.ts";
import { hasAlias } from "../models/routing/choose/model-aliases.ts";

/** A variant is the answering model's variant. */
export const fusionSlug = /^service\/fusion(:(?:nitro|floor|exacto))?$/;

export const namesFusion = ({ models }: TurnRequest): boolean =>
  models.some((model) => model.startsWith("service/fusion") && fusionSlug.test(model));

export const onlineSuffix = ":online";

export const isOnline = (model: string): boolean => model.endsWith(onlineSuffix);

/** The slug without the variant, unless the catalogue has a model of this exact name. */
export const withoutOnline = (model: string, catalog: { find(name: string): unknown }): string =>
  isOnline(model) && catalog.find(model) === undefined ? model.slice(0, -onlineSuffix.length) : model;

export const jevSlug = "service/jev-router";

export const switchyardSlug = "service/switchyard";

export const autoSlug = "service/auto";

export const autoBetaSlug = "service/auto-beta";

export const paretoSlug = "service/pareto-code";

/** Slugs of the plugins that choose a model. */
export const routerAliases = [autoSlug, autoBetaSlug, paretoSlug, switchyardSlug, jevSlug].map((slug) => ({ slug }));

/** Whether the slug stands for a choice of models, and so for none of the catalogue. */
export const isModelChoiceSlug = (slug: string): boolean =>
  fusionSlug.test(slug) || hasAlias(routerAliases, { models: [slug] });
