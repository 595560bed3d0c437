/** The model's part of a path. Names with a collection in them, such as tunedModels/mine, are used unchanged. */
export const modelPath = (name: string): string => (name.includes("/") ? name : `models/${encodeURIComponent(name)}`);
