/** Times as broken nodes tell them: a header decides, and what no header explains is not believed. */
import { type Hex, numberToHex } from 'viem'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { headerIn, type RpcLog } from '../../../ingest/rpc/rpc.ts'
import { DAY } from '../../support/recorded.ts'
import type { Faults, RpcServer } from '../../support/rpc-server.ts'
import { cleanContent, contentOf, type Listening, listenTo, startNode } from '../over-nodes.ts'

const timed = (twist: (time: number, log: RpcLog) => Hex | null): Faults['twistLog'] => {
  return (log) => ({ ...log, blockTimestamp: twist(Number(log.blockTimestamp), log) })
}
const isOdd = ({ blockNumber }: RpcLog) => Number(blockNumber) % 2 === 1

describe('the times of logs', () => {
  let nodes: RpcServer[] = []
  let listening: Listening | undefined
  let clean: unknown[]

  beforeAll(async () => {
    clean = await cleanContent()
  })

  afterEach(async () => {
    await listening?.stop()
    await Promise.all(nodes.map((node) => node.stop()))
    nodes = []
  })

  async function read(...faulty: Partial<RpcServer['faults']>[]): Promise<unknown[]> {
    nodes = await Promise.all(faulty.map(startNode))
    for (const [index, faults] of faulty.entries()) Object.assign(nodes[index]?.faults ?? {}, faults)
    listening = listenTo(nodes)
    return contentOf(await listening.messagesUpTo(DAY.lastBlock))
  }

  test.each([
    ['say 0x0', timed(() => '0x0')],
    ['say null', timed(() => null)],
    ['say an empty text', timed(() => '' as Hex)],
    ['say 0x0 in some blocks', timed((time, log) => (isOdd(log) ? '0x0' : numberToHex(time)))],
    ['say milliseconds', timed((time) => numberToHex(time * 1_000))],
    ['are of an hour earlier', timed((time) => numberToHex(time - 3_600))],
    ['are of a year later', timed((time) => numberToHex(time + 31_536_000))],
    ['go back in some blocks', timed((time, log) => numberToHex(isOdd(log) ? time - 60 : time))],
  ])('a listener over a node whose logs %s has the times of the headers', async (_, twistLog) => {
    expect(await read(twistLog ? { twistLog } : {})).toEqual(clean)
    expect(listening?.facts.filter(({ kind }) => kind === 'rpc-failed')).toEqual([])
  })

  test('a node whose logs and headers say 0x0 is not believed: another node is asked', async () => {
    nodes = [await startNode(), await startNode()]
    const [liar] = nodes
    if (!liar) throw new Error('There are two.')
    liar.faults.twistLog = (log) => ({ ...log, blockTimestamp: '0x0' })
    liar.chain.timestampOf = () => 0
    listening = listenTo(nodes)
    expect(contentOf(await listening.messagesUpTo(DAY.lastBlock))).toEqual(clean)
    expect(listening.problemsOf(liar)).toContain('malformed')
  })
})

describe('a header', () => {
  const header = { number: '0x10', hash: `0x${'1'.repeat(64)}`, parentHash: `0x${'2'.repeat(64)}`, timestamp: '0x64' }

  test.each([['0x0'], [null], [undefined], [''], ['0x100000000'], ['0xffffffff'], ['0xzz'], [true], [[]]])(
    'an answer with the time %j is no header',
    (timestamp) => {
      expect(headerIn({ ...header, timestamp })).toBeUndefined()
    },
  )

  test.each([[null], [''], ['0x'], [[]]])('an answer with the number %j is no header', (number) => {
    expect(headerIn({ ...header, number })).toBeUndefined()
  })

  test('the header of a genesis block may be of 1970', () => {
    expect(headerIn({ ...header, number: '0x0', timestamp: '0x0' })?.timestamp).toBe(0)
    expect(headerIn(header)?.timestamp).toBe(100)
  })
})
