# uPlot draws the charts of the report. npm fetches it when the package is built, into a folder beside the page's template that
# no repository has and every sdist does. Without npm, or without a network, charts are still pictures.
# `cmake -P cmake/uplot.cmake` fetches it alone.
set(UPLOT_VERSION 1.6.32)
set(UPLOT_FOLDER ${CMAKE_CURRENT_LIST_DIR}/../src/driftline/report/vendor)
find_program(NPM npm)
if(NPM AND NOT EXISTS ${UPLOT_FOLDER}/uPlot.iife.min.js)
  execute_process(COMMAND ${NPM} pack --silent uplot@${UPLOT_VERSION} WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
                  RESULT_VARIABLE UPLOT_FAILED OUTPUT_QUIET ERROR_QUIET TIMEOUT 60)
  if(UPLOT_FAILED)
    message(WARNING "npm could not fetch uPlot ${UPLOT_VERSION}: charts of reports will be still pictures")
  else()
    file(ARCHIVE_EXTRACT INPUT ${CMAKE_CURRENT_BINARY_DIR}/uplot-${UPLOT_VERSION}.tgz
         DESTINATION ${CMAKE_CURRENT_BINARY_DIR}/uplot)
    set(UPLOT_PACKAGE ${CMAKE_CURRENT_BINARY_DIR}/uplot/package)
    file(COPY ${UPLOT_PACKAGE}/dist/uPlot.iife.min.js ${UPLOT_PACKAGE}/dist/uPlot.min.css ${UPLOT_PACKAGE}/LICENSE
         DESTINATION ${UPLOT_FOLDER})
  endif()
endif()
