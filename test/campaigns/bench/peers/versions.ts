/** Versions of the other gateways and their dependencies, pinned so two runs measure the same. */

export const gatewayVersions = {
  portkey: "1.15.2",
  /** Later versions than 1.14.1 make headers immutable; Portkey 1.15.2 changes them, and then answers each stream with 500. */
  honoNodeServer: "1.14.1",
  litellm: "1.106.12",
} as const;

/** Gateways that are not measured here, with the reason, as of 2026-11-26. */
export const unmeasuredGateways: Readonly<Record<string, string>> = {
  Bifrost:
    "the Go module proxy refuses github.com/maximhq/bifrost/transports (403), and the npm package @maximhq/bifrost 1.6.3 downloads the program from elsewhere when it starts",
  Helicone: "its gateway is not on npm (@helicone/ai-gateway)",
  TensorZero: "the crate is an empty placeholder (0.0.0), and the PyPI package is a client",
};
