/** Events of a stream. */
import { faultsIn } from '../plant.ts'

const STREAMS = ['test/api/extras/stream/stream.int.test.ts', 'test/api/extras/stream/branches.int.test.ts']

export const STREAM_FAULTS = [
  ...faultsIn('api/extras/stream/rows.ts', STREAMS, [
    ['a row that a reorg removed is not retracted', 'time >= from && !kept.has(key)', 'time >= from && false'],
    [
      'a row that changed is not sent again',
      'jsonOf.get(key) !== json || entered.has(key)',
      '!jsonOf.has(key) || entered.has(key)',
    ],
  ]),
  ...faultsIn('api/extras/stream/feed.ts', STREAMS, [
    ['a tip is sent before its rows', 'for (const member of this.#members) await this.#read(member, states)\n', '\n'],
    ['a reader resumes after any event', 'return id === this.#id && ', 'return id !== undefined && '],
    [
      'a change of all pools is none',
      "if (changed === 'all') member.pending = 'all'",
      "if (changed === 'all') member.pending ??= undefined",
    ],
  ]),
  ...faultsIn('api/extras/stream/event-stream.ts', STREAMS, [
    [
      'a slow reader is waited for',
      'if (res.writableLength <= firstBytes + MAX_UNREAD_BYTES) return',
      'if (res.writableLength >= 0) return',
    ],
  ]),
]
