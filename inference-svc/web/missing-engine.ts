/** The error text for an engine that a request names and the configuration does not have. @param name empty or auto: the default engine */
export const explainMissingEngine = (name: string): string =>
  name === "" || name === "auto"
    ? "needs an engine in search.engines of the configuration file"
    : `needs search.engines.${name} in the configuration file`;
