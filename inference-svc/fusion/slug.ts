/** The slug `service/fusion`: a panel of models answers first, then the model that compared their answers. */
import type { TurnRequest } from "../turn/request.ts";

/** A variant is the variant of the model that answers. */
export const fusionSlug = /^service\/fusion(:(?:nitro|floor|exacto))?$/;

export const namesFusion = ({ models }: TurnRequest): boolean =>
  models.some((model) => model.startsWith("service/fusion") && fusionSlug.test(model));
