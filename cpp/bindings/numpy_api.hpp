// NumPy's C interface, imported once by module.cpp.
#pragma once

#define PY_ARRAY_UNIQUE_SYMBOL driftline_numpy
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_1_25_API_VERSION
#ifndef DRIFTLINE_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <Python.h>
#include <numpy/arrayobject.h>
