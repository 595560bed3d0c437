/** Versions of the other gateways and of their dependencies, so that two runs measure the same. */

export const gatewayVersions = {
  portkey: "1.15.2",
  /** Above 1.14.1, Portkey 1.15.2 answers each stream with 500: it changes headers made immutable there. */
  honoNodeServer: "1.14.1",
  litellm: "1.106.12",
} as const;

/** Gateways without a measurement here, and why. Tried on 2026-11-26. */
export const unmeasuredGateways: Readonly<Record<string, string>> = {
  Bifrost:
    "the Go module proxy refuses github.com/maximhq/bifrost/transports (403), and the npm package @maximhq/bifrost 1.6.3 downloads the program from elsewhere when it starts",
  Helicone: "its gateway is not on npm (@helicone/ai-gateway)",
  TensorZero: "the crate is an empty placeholder (0.0.0), and the PyPI package is a client",
};
