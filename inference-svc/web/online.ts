/** The variant `:online` of a model, an alias of the plugin `web`. */
import type { TurnRequest } from "../turn/request.ts";

export const onlineSuffix = ":online";

export const isOnline = (model: string): boolean => model.endsWith(onlineSuffix);

/** Whether the plugin `web` may act on the request. */
export const mayUseWeb = ({ plugins, models }: TurnRequest): boolean =>
  plugins?.web !== undefined || models.some(isOnline);

/** The slug without the variant, unless the catalogue has a model of this exact name. */
export const withoutOnline = (model: string, catalog: { find(name: string): unknown }): string =>
  isOnline(model) && catalog.find(model) === undefined ? model.slice(0, -onlineSuffix.length) : model;
