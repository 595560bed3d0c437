/**
 * Prints `image=X` for a base image with a digest, and refuses any other: a tag may mean something else tomorrow.
 * `node deploy/release/base.mjs docker.io/library/node:24-bookworm-slim@sha256:...`
 */
const [image = ""] = process.argv.slice(2);
if (!/^[a-z0-9][a-z0-9./:_-]*@sha256:[0-9a-f]{64}$/.test(image)) {
  process.stderr.write(
    `base image ${image || "(none)"}: a release needs it with its digest, NAME:TAG@sha256:DIGEST, in the variable NODE_IMAGE of the repository\n`,
  );
  process.exit(1);
}
process.stdout.write(`image=${image}\n`);
