/** Code and style of the page and of the embedded chart, bundled by esbuild: by the build of the package, and in the repository where they are first asked for. */
import { basename, join } from 'node:path'
import { build, stop } from 'esbuild'

const HERE = import.meta.dirname
const ENTRIES = ['browser/main.ts', 'style.css', 'browser/embed.ts', 'embed.css'] as const

/** Texts by the names of their files; every name contains a hash of its content. */
export async function bundlePage(): Promise<ReadonlyMap<string, string>> {
  const { outputFiles } = await build({
    entryPoints: ENTRIES.map((entry) => join(HERE, entry)),
    outdir: HERE,
    outbase: HERE,
    entryNames: '[name]-[hash]',
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    charset: 'utf8',
    // Licences require their notices.
    legalComments: 'eof',
    logLevel: 'silent',
  })
  // Otherwise esbuild's process stays until this one ends.
  await stop()
  return new Map(outputFiles.map(({ path, text }) => [basename(path), text]))
}
