/**
 * The entry points as JavaScript with few modules, for the tests that start many processes: from its sources a process takes two seconds of
 * a processor to load 900 modules, from here a quarter of that. `start.int.test.ts` starts them as users do.
 */
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'

const ROOT = join(import.meta.dirname, '../..')
/** Packages of hundreds of modules. All others are loaded as they are installed. */
const BUNDLED = /^(viem|zod|ox|abitype|@noble\/.*|@scure\/.*)($|\/)/

export async function buildEntries(): Promise<{ folder: string; remove(): Promise<void> }> {
  // Within the project, so that the packages are found from there.
  const cache = join(ROOT, 'node_modules/.cache')
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, 'entries-'))
  const bin = join(ROOT, 'infra/bin')
  const names = (await readdir(bin, { recursive: true })).filter((name) => name.endsWith('.ts'))
  await build({
    entryPoints: names.map((name) => join(bin, name)),
    outdir: folder,
    entryNames: '[name]',
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'error',
    plugins: [installedPackages, placesOfSources],
  })
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) }
}

const installedPackages: Plugin = {
  name: 'installed packages',
  setup({ onResolve }) {
    onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
      kind === 'entry-point' || BUNDLED.test(path) ? undefined : { path, external: true },
    )
  },
}

/** A module finds the files beside it by the place of its source. */
const placesOfSources: Plugin = {
  name: 'places of sources',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const contents = (await readFile(path, 'utf8'))
        .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
        .replaceAll('import.meta.filename', JSON.stringify(path))
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
      return { contents, loader: 'ts' }
    })
  },
}
