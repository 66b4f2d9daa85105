import { expect, test } from 'vitest'
import { headerText } from '../../../api/http/headers.ts'

test('characters that a header can not hold are percent-encoded', () => {
  expect(headerText('USD₮0-100%\n')).toBe('USD%E2%82%AE0-100%25%0A')
  expect(headerText('WETH-USDC.e')).toBe('WETH-USDC.e')
  expect(decodeURIComponent(headerText('🦄%'))).toBe('🦄%')
})
