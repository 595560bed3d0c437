/** The slug `service/fusion`: a panel of models answers first, then the model that compared the answers. */
import type { TurnRequest } from "../turn/request.ts";

/** A variant is the answering model's variant. */
export const fusionSlug = /^service\/fusion(:(?:nitro|floor|exacto))?$/;

export const namesFusion = ({ models }: TurnRequest): boolean =>
  models.some((model) => model.startsWith("service/fusion") && fusionSlug.test(model));
