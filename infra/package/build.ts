/**
 * `npm run build`: the files of the package, in `dist`: the sources as JavaScript with source maps, the files that they read, and the page.
 * `npm pack` and the image take it from there; nothing in it needs tsx, esbuild or TypeScript.
 */
import { execFileSync } from 'node:child_process'
import { chmod, cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { extname, join, relative, sep } from 'node:path'
import { bundlePage } from '../../api/extras/page/bundle.ts'
import { withoutArguments } from '../process/help.ts'

const ROOT = join(import.meta.dirname, '../..')
const DIST = join(ROOT, 'dist')
/** `npm run check` has the types checked; an image is built without the packages that are optional. */
const TSC = ['--noCheck', '--outDir', DIST]
const ROOMS = ['ingest', 'aggregator', 'api', 'infra']
/** Files that no process reads. */
const LEFT_OUT = [
  'api/extras/clients',
  'api/extras/page/browser',
  'infra/Dockerfile',
  'infra/clickhouse/server',
  'infra/docs',
  'infra/grafana',
  'infra/package',
  'infra/prometheus',
  'infra/site',
]
const READ = new Set(['.sql', '.json', '.mjs', '.html', '.css', '.js', '.md', '.txt'])

withoutArguments({
  does: 'Builds what the package runs, in dist.',
  usage: ['npm run build'],
  examples: ['npm run build'],
})
await rm(DIST, { recursive: true, force: true })
execFileSync(join(ROOT, 'node_modules/.bin/tsc'), [...TSC, '--project', import.meta.dirname], {
  stdio: 'inherit',
})
for (const room of ROOMS) await cp(join(ROOT, room), join(DIST, room), { recursive: true, filter: isRead })
await cp(join(ROOT, 'package.json'), join(DIST, 'package.json'))
// The image runs it by its path.
await chmod(join(DIST, 'infra/bin/candlepool.js'), 0o755)
const page = join(DIST, 'api/extras/page/bundle')
await mkdir(page)
for (const [name, text] of await bundlePage()) await writeFile(join(page, name), text)

function isRead(path: string): boolean {
  const place = relative(ROOT, path).split(sep).join('/')
  const extension = extname(path)
  return !LEFT_OUT.includes(place) && (extension === '' || READ.has(extension)) && !place.endsWith('README.md')
}
