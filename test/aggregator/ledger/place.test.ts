/** Where a message belongs, by the hashes of the chain that is stored. */
import { describe, expect, test } from 'vitest'
import { type KnownChain, place } from '../../../aggregator/ledger/ledger.ts'
import { asBlocks, asRange, type Chain, fullBlocks, mine } from '../../support/chain.ts'
import { networkOf } from '../running.ts'

const network = networkOf('ethereum')
const TRUNK = mine([], fullBlocks(8, 1))
const OTHER = mine(TRUNK.slice(0, 5), fullBlocks(5, 2), 'another branch')

const known = (chain: Chain, irreversible = 0): KnownChain => ({
  tip: chain.at(-1),
  finalized: 0,
  irreversible,
  at: async (number) => chain.find((block) => block.number === number),
})
const messageOf = (chain: Chain, index: number) =>
  asBlocks(network, chain)[index] ?? expect.fail('There is such a block.')

describe('a message', () => {
  test('is appended upon the tip that is its parent, and upon no other block', async () => {
    expect(await place(known(TRUNK.slice(0, 6)), messageOf(TRUNK, 6))).toMatchObject({ kind: 'append' })
    expect(await place(known(TRUNK.slice(0, 6)), messageOf(OTHER, 6))).toEqual({ kind: 'orphan' })
    expect(await place(known(TRUNK.slice(0, 5)), messageOf(TRUNK, 6))).toEqual({ kind: 'orphan' })
  })

  test('is known where its block is stored', async () => {
    expect(await place(known(TRUNK), messageOf(TRUNK, 6))).toEqual({ kind: 'known' })
    expect(await place(known(TRUNK), asRange(network, TRUNK.slice(2, 6)))).toEqual({ kind: 'known' })
  })

  test('takes back what is stored above its parent', async () => {
    const placement = await place(known(TRUNK), messageOf(OTHER, 5))
    expect(placement).toMatchObject({ kind: 'rollback', to: { number: TRUNK[4]?.number } })
  })

  test('is refused where it would take back an irreversible block', async () => {
    const [parent, first] = [TRUNK[4]?.number ?? 0, TRUNK[5]?.number ?? 0]
    expect(await place(known(TRUNK, parent), messageOf(OTHER, 5))).toMatchObject({ kind: 'rollback' })
    expect(await place(known(TRUNK, first), messageOf(OTHER, 5))).toMatchObject({ kind: 'refused' })
  })
})
