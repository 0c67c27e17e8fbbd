/* Versions of `do_all(task, storage)` for each kind of storage, with and without AVX2.

   Each file that includes this header defines its own `task` and `do_all`. Therefore the header has
   no include guard. */
typedef void (*task_function)(const task *);
static void do_single(const task *todo) { do_all(todo, SINGLE); }
static void do_double(const task *todo) { do_all(todo, DOUBLE); }
static void do_prepared(const task *todo) { do_all(todo, PREPARED); }
#if HAVE_AVX2_CHOICE
WITH_AVX2 static void do_single_avx2(const task *todo) { do_all(todo, SINGLE); }
WITH_AVX2 static void do_double_avx2(const task *todo) { do_all(todo, DOUBLE); }
WITH_AVX2 static void do_prepared_avx2(const task *todo) { do_all(todo, PREPARED); }
#endif

static task_function function_for(enum storage stored)
{
#if HAVE_AVX2_CHOICE
    if (has_avx2()) {
        return stored == SINGLE ? do_single_avx2 : stored == DOUBLE ? do_double_avx2 : do_prepared_avx2;
    }
#endif
    return stored == SINGLE ? do_single : stored == DOUBLE ? do_double : do_prepared;
}
