/** Functions of the product that its processes have reached, by the coverage that V8 counts. */
import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'

/** Each as `file:name:place`, the place in the bundle of its module. */
export type Functions = { known: ReadonlySet<string>; reached: ReadonlySet<string> }

type Coverage = { result: { url: string; functions: { functionName: string; ranges: Range[] }[] }[] }
type Range = { startOffset: number; count: number }

/** `folder`: of coverage; `entries`: of the bundles. A function within one that was never called is not known. */
export async function reachedFunctions(folder: string, entries: string): Promise<Functions> {
  const [known, reached] = [new Set<string>(), new Set<string>()]
  const modules = new Map<string, readonly Module[]>()
  for (const name of await readdir(folder).catch(() => [])) {
    const text = await readFile(join(folder, name), 'utf8')
    for (const { url, functions } of readCoverage(text)) {
      if (!url.includes(`/${basename(entries)}/`)) continue
      const file = join(entries, basename(url))
      const starts = modules.get(file) ?? modulesIn(await readFile(file, 'utf8'))
      modules.set(file, starts)
      for (const { functionName, ranges } of functions) {
        const start = ranges[0]?.startOffset ?? 0
        const module = starts.findLast((it) => it.start <= start)
        if (!module?.isOurs || functionName === '') continue
        const key = `${module.path}:${functionName}:${start - module.start}`
        known.add(key)
        if (ranges.some(({ count }) => count > 0)) reached.add(key)
      }
    }
  }
  return { known, reached }
}

/** A process that is killed while it writes leaves half a file. */
function readCoverage(text: string): Coverage['result'] {
  try {
    return (JSON.parse(text) as Coverage).result
  } catch {
    return []
  }
}

type Module = { path: string; start: number; isOurs: boolean }

/** esbuild writes the path of each module above it. */
function modulesIn(bundle: string): Module[] {
  return [...bundle.matchAll(/^\/\/ (\S+\.[cm]?[jt]s)$/gm)].map(({ index, 1: path = '' }) => ({
    ...{ path, start: index, isOurs: /^(ingest|aggregator|api|infra)\//.test(path) },
  }))
}

/** Reached and known functions by the two upper folders of their files, the least reached first. */
export function byFolder({ known, reached }: Functions): [folder: string, reached: number, known: number][] {
  const counts = new Map<string, [number, number]>()
  for (const key of known) {
    const folder = key.split(':')[0]?.split('/').slice(0, -1).slice(0, 2).join('/') ?? ''
    const [of, all] = counts.get(folder) ?? [0, 0]
    counts.set(folder, [of + (reached.has(key) ? 1 : 0), all + 1])
  }
  const rows = [...counts].map(([folder, [of, all]]): [string, number, number] => [folder, of, all])
  return rows.sort(([, a, b], [, c, d]) => a / b - c / d)
}
