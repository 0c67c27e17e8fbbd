/* The extension module. Each file has one function table, which must be listed twice below. */
#include "arguments.h"

extern PyMethodDef band_functions[];
extern PyMethodDef edge_functions[];
extern PyMethodDef line_functions[];
extern PyMethodDef manhattan_functions[];
extern PyMethodDef pair_functions[];
extern PyMethodDef sample_functions[];
extern PyMethodDef round_functions[];
extern PyMethodDef tile_functions[];

static int add_functions(PyObject *module)
{
    PyMethodDef *tables[] = {band_functions, edge_functions, line_functions, manhattan_functions, pair_functions, round_functions, sample_functions, tile_functions};
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        if (PyModule_AddFunctions(module, tables[i]) != 0) {
            return -1;
        }
    }
    return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, add_functions}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_compiled",
    .m_doc = "Kernels in C. Each has a numpy version with the same result.",
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__compiled(void)
{
    return PyModuleDef_Init(&definition);
}
