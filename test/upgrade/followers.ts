/** Streams beside an upgrade: after each end they are opened again where requests are sent then, from the last event. */
import { expect } from 'vitest'
import { FoldedStream, followed } from '../client/event-stream.ts'
import { until } from '../support/until.ts'

export type Followed = { pool: string; path: string; limit: number }

export type Followers = {
  /** Until the folded events of each are what the path answers; how often all of them were opened. */
  untilAnswered(url: string): Promise<number>
  stop(): void
}

export function startFollowers(key: string, paths: readonly Followed[], url: () => string | undefined): Followers {
  const stopped = new AbortController()
  const { signal } = stopped
  const streams = paths.map((query) => ({ ...query, folded: new FoldedStream(query.limit) }))

  async function follow(path: string, folded: FoldedStream): Promise<void> {
    const at = () => url()?.concat(path)
    for await (const _ of followed(folded, { url: at, key, signal }));
  }
  for (const { path, folded } of streams) void follow(path, folded)

  return {
    async untilAnswered(url) {
      for (const { path, pool, folded } of streams) {
        const isAnswered = async () => {
          const answer = await fetch(`${url}${path}`, { headers: { 'X-API-KEY': key } })
          const { data } = (await answer.json()) as { data: Record<string, string>[] }
          const from = data[0]?.['time'] ?? data[0]?.['timestamp'] ?? ''
          expect({ path, rows: folded.rowsOf(pool, from), breaks: folded.breaks }).toEqual({
            path,
            rows: data,
            breaks: 0,
          })
          return true as const
        }
        await until(isAnswered, `the stream ${path} is what is answered`)
      }
      return streams.reduce((sum, { folded }) => sum + folded.opened, 0)
    },
    stop: () => stopped.abort(),
  }
}
