/** Controls how a shape is printed as JSON Schema: under a name, with a description, or without being checked. */
import type { Components, Shape } from "./base.ts";

/** A shape that is only printed; other code checks the value. */
export const printOnly = (shape: Shape): Shape => ({ check: () => {}, schema: shape.schema });

/** A shape that is printed as a separate named definition. */
export const named = <S extends Shape>(name: string, shape: S): S => ({
  ...shape,
  schema: (components: Components) => {
    if (!components.has(name)) {
      // The name is registered before the schema is printed, so a shape may contain itself.
      components.set(name, {});
      components.set(name, shape.schema(components));
    }
    return { $ref: `#/components/schemas/${name}` };
  },
});

/** A shape that refers to itself. */
export const lazy = (shape: () => Shape): Shape => ({
  check: (value, path, problems, or) => shape().check(value, path, problems, or),
  schema: (components) => shape().schema(components),
});

/** Marks a shape as deprecated; it is still accepted. */
export const deprecated = <S extends Shape>(shape: S): S => ({
  ...shape,
  schema: (components: Components) => ({ ...shape.schema(components), deprecated: true }),
});

export const described = <S extends Shape>(shape: S, description: string): S => ({
  ...shape,
  schema: (components: Components) => ({ ...shape.schema(components), description }),
});
