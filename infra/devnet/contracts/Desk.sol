// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title The one trader and liquidity provider of the devnet: it pays every Uniswap v3 and v4 callback from its own balance.
/// Anybody may call it; `many` takes several steps in one transaction, as arbitrage bots do.

interface IToken {
    function transfer(address to, uint256 amount) external returns (bool);
}

interface IPoolV3 {
    function token0() external view returns (address);
    function token1() external view returns (address);
    function slot0() external view returns (uint160 sqrtPriceX96, int24, uint16, uint16, uint16, uint8, bool);
    function swap(address recipient, bool zeroForOne, int256 amountSpecified, uint160 sqrtPriceLimitX96, bytes calldata data)
        external
        returns (int256 amount0, int256 amount1);
    function mint(address recipient, int24 tickLower, int24 tickUpper, uint128 amount, bytes calldata data)
        external
        returns (uint256 amount0, uint256 amount1);
    function burn(int24 tickLower, int24 tickUpper, uint128 amount) external returns (uint256 amount0, uint256 amount1);
    function collect(address recipient, int24 tickLower, int24 tickUpper, uint128 amount0, uint128 amount1)
        external
        returns (uint128, uint128);
}

struct PoolKey {
    address currency0;
    address currency1;
    uint24 fee;
    int24 tickSpacing;
    address hooks;
}

struct SwapParams {
    bool zeroForOne;
    int256 amountSpecified;
    uint160 sqrtPriceLimitX96;
}

struct ModifyLiquidityParams {
    int24 tickLower;
    int24 tickUpper;
    int256 liquidityDelta;
    bytes32 salt;
}

interface IPoolManager {
    function unlock(bytes calldata data) external returns (bytes memory);
    function swap(PoolKey memory key, SwapParams memory params, bytes calldata hookData) external returns (int256 delta);
    function modifyLiquidity(PoolKey memory key, ModifyLiquidityParams memory params, bytes calldata hookData)
        external
        returns (int256 delta, int256 fees);
    function sync(address currency) external;
    function settle() external payable returns (uint256);
    function take(address currency, address to, uint256 amount) external;
    function extsload(bytes32 slot) external view returns (bytes32);
}

contract Desk {
    /// More than any pool can take, so that a swap ends at its price limit.
    int256 private constant WITHOUT_END = 1 << 120;
    uint160 private constant LOWEST = 4295128740;
    uint160 private constant HIGHEST = 1461446703485210103287273052203988822378723970341;
    /// Where the PoolManager keeps its mapping of pools.
    bytes32 private constant POOLS_SLOT = bytes32(uint256(6));

    IPoolManager private immutable manager;

    constructor(IPoolManager poolManager) {
        manager = poolManager;
    }

    receive() external payable {}

    function many(bytes[] calldata steps) external {
        for (uint256 i = 0; i < steps.length; i++) {
            (bool done, bytes memory answer) = address(this).delegatecall(steps[i]);
            if (!done) {
                assembly ("memory-safe") {
                    revert(add(answer, 32), mload(answer))
                }
            }
        }
    }

    // ---- v3

    /// @param amount Exact input where positive, exact output where negative, as v3 counts.
    /// @param limit 0 for none.
    function swapV3(IPoolV3 pool, bool zeroForOne, int256 amount, uint160 limit) public {
        pool.swap(address(this), zeroForOne, amount, limit == 0 ? endOf(zeroForOne) : limit, pay(pool));
    }

    /// Moves the pool to the near edge of [low, high], as an arbitrageur would; does nothing inside of it.
    function levelV3(IPoolV3 pool, uint160 low, uint160 high) external {
        (uint160 price,,,,,,) = pool.slot0();
        if (price < low) swapV3(pool, false, WITHOUT_END, low);
        else if (price > high) swapV3(pool, true, WITHOUT_END, high);
    }

    function mintV3(IPoolV3 pool, int24 tickLower, int24 tickUpper, uint128 liquidity) external {
        pool.mint(address(this), tickLower, tickUpper, liquidity, pay(pool));
    }

    function burnV3(IPoolV3 pool, int24 tickLower, int24 tickUpper, uint128 liquidity) external {
        pool.burn(tickLower, tickUpper, liquidity);
        pool.collect(address(this), tickLower, tickUpper, type(uint128).max, type(uint128).max);
    }

    function uniswapV3SwapCallback(int256 amount0, int256 amount1, bytes calldata data) external {
        (address token0, address token1) = abi.decode(data, (address, address));
        if (amount0 > 0) IToken(token0).transfer(msg.sender, uint256(amount0));
        if (amount1 > 0) IToken(token1).transfer(msg.sender, uint256(amount1));
    }

    function uniswapV3MintCallback(uint256 amount0, uint256 amount1, bytes calldata data) external {
        (address token0, address token1) = abi.decode(data, (address, address));
        if (amount0 > 0) IToken(token0).transfer(msg.sender, amount0);
        if (amount1 > 0) IToken(token1).transfer(msg.sender, amount1);
    }

    function pay(IPoolV3 pool) private view returns (bytes memory) {
        return abi.encode(pool.token0(), pool.token1());
    }

    // ---- v4

    /// @param amount Exact input where positive, exact output where negative: v3's way round, turned for the manager below.
    /// @param limit 0 for none.
    function swapV4(PoolKey memory key, bool zeroForOne, int256 amount, uint160 limit) public {
        SwapParams memory params = SwapParams(zeroForOne, -amount, limit == 0 ? endOf(zeroForOne) : limit);
        manager.unlock(abi.encodeCall(this.swapUnlocked, (key, params)));
    }

    function levelV4(PoolKey memory key, uint160 low, uint160 high) external {
        bytes32 slot = keccak256(abi.encode(keccak256(abi.encode(key)), POOLS_SLOT));
        uint160 price = uint160(uint256(manager.extsload(slot)));
        if (price < low) swapV4(key, false, WITHOUT_END, low);
        else if (price > high) swapV4(key, true, WITHOUT_END, high);
    }

    function changeV4(PoolKey memory key, int24 tickLower, int24 tickUpper, int256 liquidityDelta) external {
        ModifyLiquidityParams memory params = ModifyLiquidityParams(tickLower, tickUpper, liquidityDelta, 0);
        manager.unlock(abi.encodeCall(this.changeUnlocked, (key, params)));
    }

    function unlockCallback(bytes calldata data) external returns (bytes memory) {
        (bool done, bytes memory answer) = address(this).delegatecall(data);
        if (!done) {
            assembly ("memory-safe") {
                revert(add(answer, 32), mload(answer))
            }
        }
        return "";
    }

    function swapUnlocked(PoolKey memory key, SwapParams memory params) external {
        clear(key, manager.swap(key, params, ""));
    }

    function changeUnlocked(PoolKey memory key, ModifyLiquidityParams memory params) external {
        (int256 delta,) = manager.modifyLiquidity(key, params, "");
        clear(key, delta);
    }

    /// A balance delta holds amount0 in its upper and amount1 in its lower 128 bits; negative is what we owe.
    function clear(PoolKey memory key, int256 delta) private {
        clear(key.currency0, int128(delta >> 128));
        clear(key.currency1, int128(delta));
    }

    function clear(address currency, int128 amount) private {
        if (amount > 0) manager.take(currency, address(this), uint128(amount));
        if (amount >= 0) return;
        uint256 owed = uint128(-amount);
        if (currency == address(0)) {
            manager.settle{value: owed}();
        } else {
            manager.sync(currency);
            IToken(currency).transfer(address(manager), owed);
            manager.settle();
        }
    }

    function endOf(bool zeroForOne) private pure returns (uint160) {
        return zeroForOne ? LOWEST : HIGHEST;
    }
}
