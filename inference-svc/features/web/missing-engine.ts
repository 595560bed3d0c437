/** The error text for a requested search engine that is not configured. @param name name of the engine; empty or auto for the default engine */
export const explainMissingEngine = (name: string): string =>
  name === "" || name === "auto"
    ? "needs an engine in search.engines of the configuration file"
    : `needs search.engines.${name} in the configuration file`;
