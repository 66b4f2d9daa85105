import { keccak256 } from 'viem'
import { expect, test } from 'vitest'
import { compileContracts, readBytecode } from '../../../../infra/devnet/contracts/compile.ts'
import { uniswapBytecode } from '../../../../infra/devnet/contracts/contracts.ts'

test('the committed bytecode is what the sources compile to', async () => {
  expect(readBytecode()).toEqual(await compileContracts())
})

test('the v3 pool is the one that every official factory deploys', () => {
  // Uniswap's POOL_INIT_CODE_HASH, from which pool addresses on mainnet are computed.
  expect(keccak256(uniswapBytecode('v3Pool'))).toBe(
    '0xe34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54',
  )
})
