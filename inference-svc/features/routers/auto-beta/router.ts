/**
 * The plugin `auto-beta-router`, for `service/auto-beta`: it chooses a model as `service/auto` does, but never keeps it
 * for the conversation.
 */
import type { RouterFeature } from "../router-slugs.ts";
import { chooseModels } from "../auto/router.ts";
import { autoBetaSlug } from "../../slugs.ts";

const slug = autoBetaSlug;

export const autoBetaRouter: RouterFeature = {
  id: "auto-beta-router",
  slug,
  choose: chooseModels({ slug, id: "auto-beta-router", settingsOf: ({ autoBetaRouter: settings }) => settings }),
};
