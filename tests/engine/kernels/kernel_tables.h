#pragma once

#include "kernels/kernels.h"

#include <QTest>

namespace waste::test {

// Rows of data, named after the instruction set, for every table that this CPU has.
inline void addTables()
{
    QTest::addColumn<const kernels::KernelTable*>("table");
    for (const char* isa : kernels::instructionSets()) {
        if (const Result<const kernels::KernelTable*> table = kernels::selectKernels(isa))
            QTest::newRow(isa) << *table;
    }
}

} // namespace waste::test
