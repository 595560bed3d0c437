/** Slugs and variants to which features give a meaning; the catalogue has no models of these names. */
import type { TurnRequest } from "../turn/request.ts";
import { hasAlias } from "../models/routing/choose/model-aliases.ts";

/** Matches the slug of the plugin `fusion`. A variant applies to the answering model. */
export const fusionSlug = /^service\/fusion(:(?:nitro|floor|exacto))?$/;

export const namesFusion = ({ models }: TurnRequest): boolean =>
  models.some((model) => model.startsWith("service/fusion") && fusionSlug.test(model));

export const onlineSuffix = ":online";

export const isOnline = (model: string): boolean => model.endsWith(onlineSuffix);

/** The slug without the variant `:online`, unless the catalogue has a model of exactly this name. */
export const withoutOnline = (model: string, catalog: { find(name: string): unknown }): string =>
  isOnline(model) && catalog.find(model) === undefined ? model.slice(0, -onlineSuffix.length) : model;

export const jevSlug = "service/jev-router";

export const switchyardSlug = "service/switchyard";

export const autoSlug = "service/auto";

export const autoBetaSlug = "service/auto-beta";

export const paretoSlug = "service/pareto-code";

/** Slugs of the router plugins. */
export const routerAliases = [autoSlug, autoBetaSlug, paretoSlug, switchyardSlug, jevSlug].map((slug) => ({ slug }));

/** Whether the slug belongs to a router or to fusion, and not to a model of the catalogue. */
export const isModelChoiceSlug = (slug: string): boolean =>
  fusionSlug.test(slug) || hasAlias(routerAliases, { models: [slug] });
