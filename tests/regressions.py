"""Programs that failed once, cut down: line k is v{k}, the last is the result. See programs.py for the names."""

REGRESSIONS = {
    "atan2 of doubles had no vector clone": """
        leaf('float64', (65, 2), 'special', 146)
        gc.atan2(v0, v0)
    """,
    "cumulative_prod took minima": """
        leaf('int32', (400, 3), 'plain', 865)
        gc.cumulative_prod(v0, axis=1)
    """,
    "neighbours of bfloat16 were those of float32": """
        leaf('bfloat16', (1, 2049), 'special', 164)
        gc.nextafter(v0, leaf('bfloat16', (1,), 'plain', 344))
    """,
    "neighbours of float16 were those of float32": """
        leaf('float16', (129,), 'special', 164)
        gc.nextafter(v0, leaf('float16', (1,), 'plain', 344))
    """,
    "complex numbers had no helpers": """
        leaf('complex64', (3, 3, 17, 3), 'plain', 701)
        gc.exp(v0 * 7) / (v0 + 1)
        gc.sum(gc.prod(v1, axis=3), axis=0)
    """,
    "which zero is the maximum depended on the loop": """
        leaf('float32', (40, 129), 'special', 5) * 0
        gc.max(v0, axis=1) + gc.min(v0, axis=1)
        1 / gc.max(v0, axis=0)
    """,
    "a block of a long reduction took its source for a row": """
        leaf('float32', (140002,), 'plain', 580)
        gc.sum(-v0, axis=0) + v0[:2]
        gc.sqrt(gc.var(gc.exp(v0), axis=0, keepdims=True)) + v1
    """,
    "a reduction over nothing, with simplify switched off": """
        leaf('float16', (0, 3), 'plain', 935)
        gc.prod(v0, axis=0, keepdims=True) + gc.sum(v0, axis=0)
    """,
    "a contraction over nothing, with simplify switched off": """
        leaf('float32', (0,), 'plain', 401)
        v0 @ leaf('float32', (0, 2), 'special', 295)
    """,
    "statistics inside a concatenation": """
        leaf('float32', (70001,), 'plain', 761)
        (v0 - gc.mean(v0, axis=0, keepdims=True)) / gc.sqrt(gc.var(v0, axis=0, keepdims=True) + 1)
        gc.concat([v1, v1, v1], axis=0)
    """,
    "a scatter of no rows read one": """
        leaf('float32', (3, 2), 'plain', 5)
        added(v0, leaf('int64', (0,), 'plain', 1), leaf('float32', (0, 2), 'plain', 1))
        assigned(v1, np.s_[1:1, :], leaf('float32', (0, 2), 'plain', 1)) + v0
    """,
    "the compiler contracted a complex product": """
        leaf('complex64', (3, 3), 'plain', 329)
        gc.concat([v0[1:2, 1:2], v0[1:2, 1:2], leaf('complex64', (1, 1), 'plain', 778)], axis=0)
        v0 * v1
        (leaf('complex64', (300,), 'plain', 1) * leaf('complex64', (300,), 'plain', 2)).reshape((100, 3)) + v2[0]
    """,
    "two rows of scratch had one name": """
        leaf('float32', (1, 17), 'special', 307)
        gc.logsumexp(gc.expm1(v0), axis=1)
        (v1 - gc.mean(v1, axis=0, keepdims=True)) / gc.sqrt(gc.var(v1, axis=0, keepdims=True) + 1)
        v2 * gc.sqrt(v0)
    """,
    "a variance of nothing, reshaped and with simplify switched off": """
        leaf('float64', (4, 0, 4), 'plain', 903)
        gc.where(leaf('bool', (4, 0, 4), 'plain', 170), v0, leaf('float64', (4, 1, 4), 'plain', 54))
        gc.var(v1.reshape((0,)), axis=None)
    """,
    "the end of a long reduction's last block, inside a division": """
        leaf('complex64', (3, 1, 30001), 'plain', 688)
        gc.tile(v0, 2).reshape((180006,))
        v1 - gc.sum(v1, axis=None, keepdims=True)
    """,
    "zeros of both signs": """
        leaf('float16', (5, 66), 'special', 3) * 0
        gc.maximum(v0, -v0) + gc.minimum(v0, 0.0)
        gc.max(1 / v1, axis=1) + gc.min(-1 / gc.relu(v0), axis=1)
        1 / gc.max(v0, axis=0)[:5] + 1 / gc.min(v0, axis=1) + v2
    """,
    "deviations over an axis of nothing, with simplify switched off": """
        leaf('float32', (7, 0, 1, 4), 'special', 719)
        v0 - gc.var(v0, axis=1, keepdims=True)
        gc.all(v1, axis=(0, 3)) | gc.any(gc.isnan(gc.var(v0, axis=1)))
    """,
    "the last block of a long reduction of what is read by rows": """
        leaf('float32', (2, 131075), 'plain', 293)
        gc.var(gc.diff(gc.hardswish(v0), axis=0), axis=None)
    """,
    "long reductions of what is carried in another dtype": """
        leaf('bfloat16', (140003,), 'plain', 594)
        leaf('float16', (131073, 2), 'plain', 3)
        (gc.min(v0) + gc.sum(v0) + gc.mean(v0)).astype('float16') + gc.max(v1, axis=0) + gc.var(v1, axis=0)
    """,
    "NumPy's own modulus of complex numbers is not the nearest": """
        leaf('complex64', (65,), 'plain', 733)
        gc.abs(v0)
    """,
    "a product and deviations in one loop, because both were over one element": """
        leaf('float64', (1, 1), 'plain', 581) @ leaf('float64', (1, 5), 'plain', 3)
        leaf('float64', (1, 1), 'plain', 4) @ v0
        gc.var(v0, axis=0, keepdims=True) + v1
    """,
    "a product and a maximum in one loop, with simplify switched off": """
        leaf('float64', (1, 1), 'plain', 581) @ leaf('float64', (1, 1), 'plain', 3)
        gc.softmax(v0, axis=0) + v0 @ leaf('float64', (1, 1), 'plain', 4)
    """,
    "rows added to a slice that lies in one piece": """
        leaf('float32', (3,), 'plain', 202)
        v0[2:3]
        added(v1, leaf('int64', (4,), 'plain', 936) % 1 - 1, leaf('float32', (4,), 'plain', 582)) + v0
    """,
    "strips of one axis after one another had one name": """
        leaf('int32', (1000,), 'plain', 506)
        gc.concat([v0, v0, v0], axis=0).astype('uint16') / 7
        gc.sqrt(gc.cos(v1))
    """,
    "the compiler computed the exponential of a complex constant": """
        leaf('complex64', (), 'plain', 439)
        gc.where(leaf('bool', (), 'special', 808), v0 + 3, leaf('complex64', (), 'plain', 607))
        gc.exp(v1)
    """,
    "the compiler fused the differences of a complex quotient": """
        leaf('complex64', (33, 3), 'plain', 687)
        gc.sliding_window_view(v0, 2, axis=-1)
        v1 @ leaf('complex64', (2, 9), 'plain', 851)
        v2 / leaf('complex64', (33, 2, 1), 'plain', 293)
    """,
    "the compiler mixed up loads under a condition between several stores": """
        leaf('int64', (1, 1, 8, 2), 'plain', 608)
        gc.pad(7 - v0, ((0, 2), (1, 2), (1, 1), (0, 1)), constant_values=0)
    """,
    "the verifier lost the end of a shorter last block in a division": """
        leaf('float32', (1, 2049, 1), 'special', 645)
        gc.maximum(leaf('float32', (3, 2049, 40), 'special', 514), v0)
        gc.nanmin(v1, axis=(1, 2))
    """,
    "the compiler fused the imaginary part of a number times its conjugate": """
        leaf('complex128', (65, 2), 'plain', 412)
        assigned(v0, np.s_[20:15:-3, :,], 0)
        gc.vecdot(v1, v1)
    """,
    "the compiler fused the sum and the difference of a pair": """
        leaf('float32', (1000, 2), 'plain', 5)
        leaf('float32', (1000, 2), 'plain', 6)
        v0[:, 0] * v1[:, 0] - v0[:, 1] * v1[:, 1]
        gc.stack([v2, v0[:, 0] * v1[:, 1] + v0[:, 1] * v1[:, 0]], axis=-1)
    """,
    "a padded concatenation was read at a place that lies in none of its parts": """
        gc.sum(leaf('float32', (13, 0, 0), 'plain', 644), axis=(0, 1, 2), keepdims=True)
        gc.concat([v0, v0, v0, leaf('float32', (1, 1, 0), 'plain', 503)], axis=2)
        gc.argmax(gc.pad(v1, ((1, 1), (2, 2), (2, 0)), constant_values=0), axis=2)
    """,
    "the blocks of a long column of its own were the tile of a kernel": """
        gc.max(leaf('uint32', (131073, 2), 'plain', 907), axis=1, keepdims=True)
        gc.max(gc.cumulative_sum(v0, axis=1), axis=0, keepdims=True)
    """,
    "the verifier lost the end of a block beside a remainder": """
        leaf('float64', (40000, 3), 'plain', 159)
        gc.tile(v0 * v0, 2)
        gc.prod(v1 * v1, axis=(0, 1), keepdims=True)
    """,
    "the verifier lost the end of a block in a reshape of a reshape": """
        leaf('float32', (3, 2049, 40), 'plain', 109)
        gc.square(v0.reshape((8196, 5, 3, 2)))
        gc.nanmin(v1, axis=None)
    """,
    "a function of a column's sum was called for a strip of other elements": """
        leaf('float32', (5, 200), 'plain', 507)
        gc.log_softmax(v0, axis=0)
        gc.log_softmax(v1, axis=0)
    """,
    "a complex quotient overflowed on the way, as NumPy's does": """
        leaf('float64', (17, 3), 'special', 479)
        gc.make_complex(v0, v0)
        v1 / v1
    """,
    "the compiler took a cast to integers and back for the whole part": """
        leaf('float32', (40,), 'plain', 528)
        (v0 / 4).astype('int32').astype('float32')
    """,
    "NumPy multiplied an array with its own transpose by another routine": """
        leaf('complex128', (4, 2), 'special', 0)
        gc.einsum('...ij,...kj->...ik', v0, v0)
    """,
    "GCC made an instruction that AVX-512 does not have, of quotients": """
        leaf('uint8', (300,), 'plain', 501)
        gc.min(v0 // v0)
    """,
    "GCC made an instruction that AVX-512 does not have, of remainders": """
        leaf('uint16', (300,), 'plain', 501)
        gc.min(v0 % v0)
    """,
    "each step of a product rounds among subnormals": """
        leaf('float64', (33, 2), 'plain', 637)
        v0 @ leaf('float64', (2, 65), 'special', 69)
    """,
    "the square of a complex number overflows on its way, as NumPy's does": """
        leaf('float32', (7,), 'special', 356)
        gc.square(gc.make_complex(v0, v0))
    """,
    "the condition of a loop over nothing is a constant": """
        leaf('int8', (0,), 'special', 0)
        gc.gcd(v0, v0)
    """,
    "vectors of signed and of unsigned integers had one name": """
        leaf('uint64', (33,), 'special', 903)
        gc.take(v0 % v0, leaf('int64', (3,), 'plain', 458) % 33, axis=0)
    """,
}
