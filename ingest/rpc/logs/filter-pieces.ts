/** Filters with more addresses or topics than an endpoint takes, in pieces: each log matches exactly one of them. */
import type { Client } from 'viem'
import { pieces } from '../../lib/pieces.ts'
import { limitsOf } from '../endpoint-limits.ts'
import type { LogFilter } from '../rpc.ts'
import { classify } from '../rpc-error.ts'

/** Pieces that are asked for at once. */
const AT_ONCE = 8

/**
 * Answers of `read` for all pieces of the filter: one where the endpoint takes the whole. How many addresses it takes is learnt from its
 * refusals.
 */
export async function readByPieces<T>(
  client: Client,
  filter: LogFilter,
  read: (piece: LogFilter) => Promise<T>,
): Promise<T[]> {
  const limits = limitsOf(client)
  for (;;) {
    const parts = piecesOf(filter, limits.maxValues)
    try {
      return await readAll(parts, read)
    } catch (error) {
      const problem = classify(error)
      const asked = Math.max(...parts.map(valuesIn))
      if (problem.kind !== 'too-many-values' || asked <= 1) throw error
      limits.refuseValues(problem.maxValues, asked)
    }
  }
}

async function readAll<T>(parts: readonly LogFilter[], read: (piece: LogFilter) => Promise<T>): Promise<T[]> {
  const answers: T[] = []
  for (const group of pieces(parts, AT_ONCE)) {
    const asked: Promise<T>[] = []
    for (const part of group) {
      const answer = read(part)
      // Another one may fail first.
      answer.catch(() => undefined)
      asked.push(answer)
      // The requests of one piece wait for their permits together, and apart from those of the next.
      await undefined
    }
    answers.push(...(await Promise.all(asked)))
  }
  return answers
}

/** The addresses, or the topics of the place with the most. */
export function valuesIn({ address = [], topics }: LogFilter): number {
  return Math.max(address.length, ...topics.map((topic) => topic?.length ?? 0))
}

/** The filter, cut so that no place has more than `max` values. */
export function piecesOf(filter: LogFilter, max: number): LogFilter[] {
  if (valuesIn(filter) <= max) return [filter]
  let parts: LogFilter[] = filter.address
    ? pieces(filter.address, max).map((address) => ({ ...filter, address }))
    : [filter]
  for (const [place, wanted] of filter.topics.entries()) {
    if (!wanted || wanted.length <= max) continue
    parts = parts.flatMap((part) =>
      pieces(wanted, max).map((some) => ({
        ...part,
        topics: part.topics.map((topic, index) => (index === place ? some : topic)),
      })),
    )
  }
  return parts
}
