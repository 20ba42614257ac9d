#pragma once

#include "kernels/kernels.h"

#include <QTest>

#include <vector>

namespace waste::test {

// Names of the tables to test: all of this build, or what WASTE_TESTED_ISAS names, because an emulated CPU is slow.
inline std::vector<const char*> testedSets()
{
    std::vector<const char*> sets;
    const QByteArrayList wanted = qgetenv("WASTE_TESTED_ISAS").split(',');
    for (const char* isa : kernels::instructionSets()) {
        if (wanted.first().isEmpty() || wanted.contains(isa))
            sets.push_back(isa);
    }
    return sets;
}

// Rows of data, named after the instruction set, for every table that this CPU has.
inline void addTables()
{
    QTest::addColumn<const kernels::KernelTable*>("table");
    for (const char* isa : testedSets()) {
        if (const Result<const kernels::KernelTable*> table = kernels::selectKernels(isa))
            QTest::newRow(isa) << *table;
    }
}

} // namespace waste::test
